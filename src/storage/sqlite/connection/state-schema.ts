import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Tables of `state.db` as drizzle sees them. Their constraints are in `state-migrations.ts`. */
export const meta = sqliteTable('meta', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
})

export const apiKey = sqliteTable('api_key', {
  keyId: text('key_id').primaryKey(),
  name: text('name').notNull(),
  scopes: text('scopes', { mode: 'json' }).$type<string[]>().notNull(),
  createdAtUs: integer('created_at_us').notNull(),
  lastUsedAtUs: integer('last_used_at_us'),
  revokedAtUs: integer('revoked_at_us'),
  expiresAtUs: integer('expires_at_us'),
})

export const apiKeySecret = sqliteTable('api_key_secret', {
  digest: blob('digest', { mode: 'buffer' }).primaryKey(),
  keyId: text('key_id').notNull(),
  createdAtUs: integer('created_at_us').notNull(),
  expiresAtUs: integer('expires_at_us'),
})

export const session = sqliteTable('session', {
  sessionId: text('session_id').primaryKey(),
  tokenHash: blob('token_hash', { mode: 'buffer' }).notNull(),
  keyId: text('key_id').notNull(),
  createdAtUs: integer('created_at_us').notNull(),
  expiresAtUs: integer('expires_at_us').notNull(),
  closedAtUs: integer('closed_at_us'),
  lastUsedAtUs: integer('last_used_at_us').notNull(),
})
