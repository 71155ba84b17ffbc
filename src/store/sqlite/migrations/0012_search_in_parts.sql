-- The search index grows part by part: a search goes back part by part and may stop between them, and what is written to one never has to be
-- merged with all that came before. The first part is the index that there was, with what it holds; its last alert is where the second begins.
CREATE TABLE search_parts (first_seq INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
INSERT INTO search_parts VALUES (1, 'alerts_search');

-- Counting them anew for every page reads one entry for each alert that was ever repeated.
CREATE TABLE duplicate_count (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL) STRICT;
INSERT INTO duplicate_count SELECT 1,
  (SELECT coalesce(sum(duplicates), 0) FROM requests WHERE duplicates > 0)
  + (SELECT count(*) FROM alerts WHERE repeat_of IS NOT NULL);
