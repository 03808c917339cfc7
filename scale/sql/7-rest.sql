-- What each content has in common with those that are no candidates: with the links it adds up.
SELECT cid, CAST(SUM(fingerprints) AS BIGINT) AS fingerprints, CAST(SUM(chunks) AS BIGINT) AS chunks
FROM (
    SELECT a AS cid, fingerprints, chunks FROM judged WHERE is_candidate = 0
    UNION ALL
    SELECT b AS cid, fingerprints, chunks FROM judged WHERE is_candidate = 0
) each_end
GROUP BY cid
