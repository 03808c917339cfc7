-- Decides whether each pair is a candidate. The content sampled at the greater level is compared by
-- all its samples, the other one by its samples of that level.
SELECT p.a, p.b, p.fingerprints, p.chunks,
       CASE WHEN (p.fingerprints >= 2 OR p.chunks >= 1 OR x.is_header + y.is_header = 2
                  OR z.rare <= 4 OR CASE WHEN x.own < y.own THEN y.rare ELSE x.rare END <= 4)
             AND (x.is_whole + y.is_whole = 2
                  OR (x.bytes >= 256 AND y.bytes >= 256
                      AND (p.chunks >= 1
                           OR 32 * p.fingerprints >= z.rare
                           OR 32 * p.fingerprints
                              >= CASE WHEN x.own < y.own THEN y.rare ELSE x.rare END)))
            THEN 1 ELSE 0 END AS is_candidate
FROM pair p
JOIN total x ON x.cid = p.a AND x.level = x.own
JOIN total y ON y.cid = p.b AND y.level = y.own
JOIN total z ON z.cid = CASE WHEN x.own < y.own THEN p.a ELSE p.b END
            AND z.level = CASE WHEN x.own < y.own THEN y.own ELSE x.own END
