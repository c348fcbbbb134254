import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import type { Config } from '../../../config/config.js'
import type { HubSettings } from '../../../config/hub.js'
import { messageOf } from '../../../errors.js'
import type { DataLayout } from '../../../files/layout.js'
import { createS3Client, type S3Client } from '../../../files/s3/client.js'
import { createS3Store, type S3Store } from '../../../files/s3/store.js'
import { createUploadPieces, type UploadPieces } from '../../../files/s3/upload-pieces.js'
import type { Log } from '../../../log.js'
import { openPostgres, type PostgresDb } from '../../../storage/postgres/connection/database.js'
import type { PostgresHost, PostgresOptions } from '../../../storage/postgres/connection/options.js'
import { openWriteHints, type WriteHints } from '../../../storage/postgres/connection/write-hints.js'

/** Port of PostgreSQL where a host names none. */
const POSTGRES_PORT = 5432

/** Kinds of bytes, each below a prefix of its own: a sweep of one knows the rows of that kind alone. */
export type ObjectKind = 'models' | 'files' | 'fleet' | 'datasets'

/** The bucket of a hub. */
export interface HubObjects {
  readonly client: S3Client
  /** begins the key of every object of this hub */
  readonly prefix: string
  store(kind: ObjectKind): S3Store
  /** pieces of uploads on their way */
  uploadPieces(): UploadPieces
  close(): void
}

/** Opens the database of the settings; it connects with the first statement. @throws Error for a file that cannot be read */
export function openHubDatabase(config: Pick<Config, 'hub'>, log?: Pick<Log, 'warn'>): PostgresDb {
  return openPostgres(databaseOptions(config, log))
}

/** Opens the hints between processes, over a connection of their own. @throws Error for a file that cannot be read */
export function openHubHints(config: Pick<Config, 'hub'>, log: Pick<Log, 'warn'>): WriteHints {
  return openWriteHints(databaseOptions(config, log), randomUUID())
}

function databaseOptions({ hub }: Pick<Config, 'hub'>, log?: Pick<Log, 'warn'>): PostgresOptions {
  const { hosts, name, user, password, passwordFile, schema, connections } = hub.database
  const secret = passwordFile === undefined ? password : readSecret('hub.database.passwordFile', passwordFile)
  const tls = tlsOf(hub)
  return {
    hosts: hosts.map(parseHost),
    database: name ?? '',
    user: user ?? '',
    schema,
    requiresSync: hub.requireSync,
    limits: { connections },
    random: Math.random,
    ...(secret === undefined ? {} : { password: secret }),
    ...(tls === undefined ? {} : { tls }),
    onFault: ({ message, host }) =>
      log?.warn(
        { reason: message, ...(host === undefined ? {} : { host: host.host }) },
        'the database failed',
      ),
  }
}

/** Opens the bucket of the settings. Nothing is sent yet. @throws Error for a file that cannot be read */
export function openHubObjects(
  { hub }: Pick<Config, 'hub'>,
  { tempDir }: Pick<DataLayout, 'tempDir'>,
): HubObjects {
  const { endpoint = '', bucket = '', prefix, region, pathStyle, caFile, ...rest } = hub.bytes
  const client = createS3Client({
    ...{ endpoint, bucket, region, isPathStyle: pathStyle },
    accessKey: readSecret('hub.bytes.accessKeyFile', rest.accessKeyFile),
    secretKey: readSecret('hub.bytes.secretKeyFile', rest.secretKeyFile),
    timeoutMs: rest.timeoutMs,
    connections: rest.connections,
    ...(caFile === undefined ? {} : { ca: readText('hub.bytes.caFile', caFile) }),
  })
  const optionsOf = (folder: string) => ({
    client,
    prefix: `${prefix}${folder}/`,
    tempDir: path.join(tempDir, folder),
    partBytes: rest.partBytes,
    copyBytes: rest.copyBytes,
  })
  return {
    ...{ client, prefix },
    store: (kind) => createS3Store(optionsOf(kind)),
    uploadPieces: () => createUploadPieces(optionsOf('uploads')),
    close: () => client.close(),
  }
}

/** Parses `host`, `host:port` or `[IPv6]:port`, which the settings have checked. */
function parseHost(text: string): PostgresHost {
  const { 1: bracketed, 2: plain = '', 3: port } = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? []
  return { host: bracketed ?? plain, port: port === undefined ? POSTGRES_PORT : Number(port) }
}

function tlsOf({ database }: HubSettings): ConnectionOptions | undefined {
  const { tls, tlsCaFile } = database
  if (tls === 'off') return undefined
  const ca = tlsCaFile === undefined ? {} : { ca: readText('hub.database.tlsCaFile', tlsCaFile) }
  return { ...ca, rejectUnauthorized: tls === 'verify' }
}

/** Reads a secret without the line end of its file. @throws Error that names the setting */
function readSecret(setting: string, file: string | undefined): string {
  const text = readText(setting, file ?? '').trim()
  if (text === '') throw new Error(`${setting}: the file ${file} is empty, expected a secret`)
  return text
}

function readText(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${setting}: ${messageOf(error)}`, { cause: error })
  }
}
