"""Parts joined at ports: what is written, how connections become equations, and the small model that is left."""
