"""A folder for the front of a job's path: Python runs the sitecustomize in it before anything of the job's own."""
