"""What people read: the command line, its tables, the demonstration."""
