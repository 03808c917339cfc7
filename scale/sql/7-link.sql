-- The result.
SELECT a, b, fingerprints, chunks FROM judged WHERE is_candidate = 1
