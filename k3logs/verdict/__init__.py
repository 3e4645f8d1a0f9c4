"""From the decision to the answer: phase, category, confidence, words."""
