"""What the equations say by their structure: indices, hidden constraints, redundancy, changes of regime."""
