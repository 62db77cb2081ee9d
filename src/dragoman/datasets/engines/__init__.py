"""Who does the work: processes on this machine, or Ray."""
