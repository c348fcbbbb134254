import type { Migration } from '../connection/migrate.js'
import { ACCESS_TABLES } from './access-tables.js'
import { ALLOWANCE_TABLES, BYTE_LEASE_TABLES } from './byte-lease-tables.js'
import { CITATION_TABLES } from './citation-tables.js'
import { BUNDLE_TABLES, FEED_TABLES } from './feed-tables.js'
import { FLEET_TABLES, MEMBER_TABLES, OVERVIEW_TABLES } from './fleet-tables.js'
import { INBOX_TABLES } from './inbox-tables.js'
import { LEASE_TABLES } from './lease-tables.js'
import { LOADER_TABLES } from './loader-tables.js'
import { MODEL_TABLES, TRANSFER_TABLES } from './model-tables.js'
import { RETENTION_TABLES } from './retention-tables.js'
import { UPLOAD_PIECE_TABLES, UPLOAD_TABLES } from './upload-tables.js'

/** Migrations of a hub's schema, in order. Append only: those that were released are never changed. */
export const MIGRATIONS: readonly Migration[] = [
  { name: 'access', statements: ACCESS_TABLES },
  { name: 'fleet', statements: FLEET_TABLES },
  { name: 'fleet members', statements: MEMBER_TABLES },
  { name: 'leases', statements: LEASE_TABLES },
  { name: 'uploads', statements: UPLOAD_TABLES },
  { name: 'models', statements: MODEL_TABLES },
  { name: 'transfers', statements: TRANSFER_TABLES },
  { name: 'feeds', statements: FEED_TABLES },
  { name: 'bundles', statements: BUNDLE_TABLES },
  { name: 'loader tables', statements: LOADER_TABLES },
  { name: 'byte leases', statements: BYTE_LEASE_TABLES },
  { name: 'allowances', statements: ALLOWANCE_TABLES },
  { name: 'inbox', statements: INBOX_TABLES },
  { name: 'fleet overview', statements: OVERVIEW_TABLES },
  { name: 'citations', statements: CITATION_TABLES },
  { name: 'retention', statements: RETENTION_TABLES },
  { name: 'upload pieces', statements: UPLOAD_PIECE_TABLES },
]
