/** Table of the feeds of other nodes; part of the migrations, so never changed. */
export const INBOX_TABLES: readonly string[] = [
  // how far a feed of another node is
  `CREATE TABLE feed_cursor (
    sender text COLLATE "C" NOT NULL,                 -- UUID of the node that sends
    feed text COLLATE "C" NOT NULL,                   -- UUID
    sender_table text COLLATE "C" NOT NULL,           -- UUID of the table there
    epoch bigint NOT NULL,                            -- incarnation of the change numbers there
    digest text COLLATE "C" NOT NULL,                 -- of the definition that both sides have
    cursor bigint NOT NULL,                           -- last change there that is here
    table_id bigint NOT NULL REFERENCES loader_table ON DELETE CASCADE,
    PRIMARY KEY (sender, feed)
  ) WITH (fillfactor = 50)`,
  `CREATE INDEX feed_cursor_by_table ON feed_cursor (table_id)`,
]
