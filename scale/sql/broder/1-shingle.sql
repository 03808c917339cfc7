-- Phase 2 of Broder et al. 1997: <shingle, document>, each once.
SELECT key, doc
FROM feature
GROUP BY key, doc
