"""What a calibration did: residuals and their powers, by correlation, window, antenna and direction."""
