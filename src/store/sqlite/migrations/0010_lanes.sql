-- Who runs the deliveries of a lane group. The fence grows at every acquisition, over all groups, and rows are never removed.
CREATE TABLE lanes (
  lane_group TEXT PRIMARY KEY,
  fence      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Of claims from before there were fences: older than any.
ALTER TABLE deliveries ADD COLUMN claim_fence INTEGER NOT NULL DEFAULT 0;

-- A destination may have the name of an account. Until now the two shared a row; where they did, it was the account's.
ALTER TABLE destination_statuses RENAME TO statuses_by_name;
CREATE TABLE destination_statuses (
  kind   TEXT NOT NULL,
  name   TEXT NOT NULL,
  status TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
INSERT INTO destination_statuses
  SELECT iif(name GLOB 'account:telegram:*' OR name GLOB 'account:email:*', 'account', 'destination'), name, status
  FROM statuses_by_name;
DROP TABLE statuses_by_name;
UPDATE destination_statuses SET status = json_set(status, '$.kind', kind);
-- Fields of a status have plainer names.
UPDATE destination_statuses
  SET status = json_remove(
    json_set(status, '$.notice', json_remove(
      json_set(status -> 'announced', '$.sent', json(status -> '$.announced.told')), '$.told')),
    '$.announced')
  WHERE status -> 'announced' IS NOT NULL;
UPDATE destination_statuses
  SET status = json_set(status, '$.undelivered', json_remove(
    json_patch(status -> 'undelivered', json_object(
      'pending', json(coalesce(status -> '$.undelivered.tale', 'null')),
      'notifiedAt', status ->> '$.undelivered.toldAt')),
    '$.tale', '$.toldAt'))
  WHERE status -> 'undelivered' IS NOT NULL;
