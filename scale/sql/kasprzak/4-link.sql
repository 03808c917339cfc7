-- The pairs whose larger share reaches the threshold.
SELECT p.a, p.b, p.common, x.pieces AS of_a, y.pieces AS of_b
FROM pair p
JOIN total x ON x.doc = p.a
JOIN total y ON y.doc = p.b
CROSS JOIN terms t
WHERE 1000000 * p.common >= t.least * LEAST(x.pieces, y.pieces)
