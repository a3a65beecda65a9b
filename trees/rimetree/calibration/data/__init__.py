"""What is known of the data: counts, weights, outliers, averages over baselines, coherences with the model."""
