"""Guest programs: Python that runs in a sandbox and reaches nothing but actions that read."""
