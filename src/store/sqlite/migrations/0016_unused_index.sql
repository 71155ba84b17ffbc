-- Duplicates are counted in `duplicate_count` since there is one; each that came wrote two places of this index for nobody.
DROP INDEX requests_repeated;
