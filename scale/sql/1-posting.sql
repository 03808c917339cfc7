-- Each content with each of its pieces, once: copies on several machines are merged.
SELECT kind, key, cid
FROM postings
GROUP BY kind, key, cid
