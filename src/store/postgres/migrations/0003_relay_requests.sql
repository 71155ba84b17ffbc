-- Runs with code of 2 and newer.
-- What one relay asks of whichever holds a lane group. `fence`: of the lane under which it was taken; null while it waits.
CREATE TABLE relay_requests (
  id         text COLLATE "C" PRIMARY KEY,
  lane_group text COLLATE "C" NOT NULL,
  kind       text NOT NULL,
  args       text NOT NULL,
  expires_at timestamptz NOT NULL,
  fence      bigint,
  answer     text
);
