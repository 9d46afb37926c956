"""Values that flow between the stages, without behaviour beyond their own printed form."""
