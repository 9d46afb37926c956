"""Values that flow between the stages: frozen, without behaviour beyond their own printed form."""
