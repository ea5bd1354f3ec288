"""What is deleted for good: runs, old attempts, and content that nothing names any more; by command and by rule."""
