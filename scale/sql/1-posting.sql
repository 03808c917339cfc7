-- Which content has which piece, each once: copies on several machines fall together.
SELECT kind, key, cid
FROM postings
GROUP BY kind, key, cid
