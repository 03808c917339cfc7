-- The links that phase 4 joins: the resemblance is shared over union.
SELECT p.a, p.b, p.common, x.pieces AS of_a, y.pieces AS of_b
FROM pair p
JOIN total x ON x.doc = p.a
JOIN total y ON y.doc = p.b
CROSS JOIN terms t
WHERE 1000000 * p.common >= t.least * (x.pieces + y.pieces - p.common)
