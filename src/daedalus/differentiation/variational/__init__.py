"""The variational equations beside the run."""
