import { isIP } from 'node:net'
import { z } from 'zod'
import { parseOffset } from '../datetime.js'
import { makeHub } from './hub.js'
import { makeIngest } from './ingest.js'
import { makeLimits } from './limits.js'
import { makeRetention } from './retention.js'
import { bytes, count, file, makeDataproc, makeReads, makeSignedModels, ms } from './sections.js'
import { makeSync } from './sync.js'

/** True for an IP address, and for one with the length of a prefix. */
function isAddressOrBlock(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 6 ? 128 : 32))
}

const makeService = () =>
  z.strictObject({
    headerPrefix: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9]{0,31}$/, 'expected 1 to 32 letters or digits, a letter first')
      .default('Svc')
      .describe('first word of the session headers; Svc gives Svc-Session-Token'),
    apiName: z
      .string()
      .regex(/^[a-z][a-z0-9]{0,31}$/, 'expected 1 to 32 lower case letters or digits, a letter first')
      .default('svc')
      .describe('name in the path of event data, risk maps and routes: /api/v1/{apiName}api/jsonrpc'),
    routeKey: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, 'expected 1 to 32 letters, digits or _, a letter first')
      .default('geojson')
      .describe('key of the route in results'),
    timeZone: z
      .string()
      .refine((text) => parseOffset(text) !== undefined, 'expected an offset such as +09:00')
      .default('+09:00')
      .describe('offset from UTC of printed datetimes, and of received datetimes without an offset'),
  })

const makeServer = () =>
  z.strictObject({
    host: z.string().min(1).max(255).default('127.0.0.1').describe('address to listen on'),
    port: z.int().min(0).max(65_535).default(8080).describe('port to listen on; 0 picks a free one'),
    tlsCertFile: file(
      'PEM file of the certificate chain; given together with tlsKeyFile, the gateway serves https',
    ),
    tlsKeyFile: file('PEM file of the private key, not encrypted'),
    openTo: z
      .array(z.enum(['/metrics', '/ogc/']))
      .max(2)
      .default([])
      .describe('paths that need no API key'),
    trustedProxies: z
      .array(
        z
          .string()
          .max(64)
          .refine(isAddressOrBlock, 'expected an IP address or a CIDR block such as 10.0.0.0/8'),
      )
      .max(100)
      .default([])
      .describe(
        'IP addresses and CIDR blocks of reverse proxies; of a request from one of them, X-Forwarded-For or Forwarded names the client',
      ),
    publicUrl: z
      .string()
      .regex(
        /^https?:\/\/[^/?#\s]+(\/[^?#\s]*[^/?#\s])?$/,
        'expected http:// or https://, a host, and no slash at the end',
      )
      .max(500)
      .optional()
      .describe('base URL of links in answers, for a gateway behind a proxy; absent: that of the request'),
    drainMs: ms(10_000, 'time that running calls have to end after SIGTERM'),
  })

const makeLogSettings = () =>
  z.strictObject({
    level: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'])
      .default('info')
      .describe('lowest level that is written'),
    refusalsPerMinute: z
      .int()
      .min(1)
      .max(1_000_000)
      .default(60)
      .describe(
        'lines per minute about refused requests, for each of strangers, callers and failed sign-ins, and about failed calls; the rest is counted in one line',
      ),
  })

const makeSession = () =>
  z.strictObject({
    maxAgeS: z
      .int()
      .min(1)
      .max(315_360_000)
      .default(31_536_000)
      .describe('longest lifetime of a session, seconds'),
    idleS: z
      .int()
      .min(0)
      .max(315_360_000)
      .default(604_800)
      .describe('time without a call that ends a session, seconds: 7 days by default; 0 for no such end'),
    maxPerKey: count(10_000, 'most open sessions of one key'),
  })

const makeBackup = () =>
  z.strictObject({
    dir: file('directory of scheduled backups, best on another disk; absent: no scheduled backups'),
    everyHours: count(24, 'interval of scheduled backups, hours', 8760),
    keep: count(7, 'number of the newest backups that are kept in backup.dir', 9999),
    maxBytesPerSecond: z
      .int()
      .min(0)
      .max(Number.MAX_SAFE_INTEGER)
      .default(32 * 1024 * 1024)
      .describe('read rate of scheduled backups, bytes per second; 0 for no limit'),
  })

const makeRiskmap = () =>
  z.strictObject({
    levelColumn: z
      .string()
      .min(1)
      .max(63)
      .default('risk')
      .describe('integer column with the risk level, 0 to 10'),
    themes: z
      .record(z.string().min(1).max(63), z.string().min(1).max(63))
      .default({})
      .describe('theme → data_name of its table, where the two differ'),
  })

const makeRouting = () =>
  z.strictObject({
    maps: z
      .array(z.string().min(1).max(4096))
      .max(100)
      .default([])
      .describe('map files in addition to maps/*.graph in the data directory'),
    maxMapBytes: bytes(
      512 * 1024 * 1024,
      'map files in memory together; a larger file is refused, others are loaded again when they are asked for',
    ),
    mapPageBytes: z
      .int()
      .min(4096)
      .max(1024 ** 3)
      .optional()
      .describe(
        'memory for the lines, names, notes and indexes of each map, which are read from its file when they have more; absent: a sixty-fourth of the memory of the machine, and at most an eighth of what its control group allows, at least 16 MiB; bytes',
      ),
    maxSnapM: z
      .number()
      .min(1)
      .max(100_000)
      .default(1000)
      .describe('largest distance from a point to the nearest road, metres'),
    maxVia: count(100, 'most via points in one request', 1000),
    maxThemes: count(16, 'most risk themes in one request', 100),
    maxAvoidPolygons: count(1000, 'most areas to avoid in one request', 100_000),
    maxAvoidPositions: count(10_000, 'most positions of all areas to avoid in one request', 1_000_000),
    maxAlternatives: count(5, 'most routes in one answer', 10),
    maxMatrixPoints: count(200, 'most origins, and most destinations, of a matrix', 2000),
    maxSettledNodes: count(20_000_000, 'most nodes that one search may settle', 1_000_000_000),
    overlayCacheBytes: bytes(64 * 1024 * 1024, 'memory for the cache of risk overlays'),
    profileCacheBytes: bytes(128 * 1024 * 1024, 'memory for the cache of cost profiles'),
    riskSlotS: z
      .int()
      .min(1)
      .max(86_400)
      .default(600)
      .describe('length of the time slot that is prepared in advance for a theme in use, seconds'),
    threads: count(
      4,
      'most threads that compute a profile of a large map, as far as there are cores; 1: the search thread alone',
      64,
    ),
    maxQueue: count(64, 'most searches that wait', 10_000),
    timeLimitMs: ms(30_000, 'longest time of a search, including its wait'),
  })

const makeTiles = () =>
  z.strictObject({
    cacheBytes: bytes(16 * 1024 * 1024, 'memory for the cache of vector tiles'),
  })

const makeModelStore = () =>
  z.strictObject({
    ...makeSignedModels(),
    autoCreate: z.boolean().default(true).describe('an upload to an unknown model store creates the store'),
    location: z
      .tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)])
      .default([0, 0])
      .describe('longitude, latitude of this device, degrees; sent with each model'),
    uploadExpiryS: z
      .int()
      .min(60)
      .max(315_360_000)
      .default(604_800)
      .describe('time without activity after which a resumable upload is removed, seconds'),
    maxOpenUploads: count(64, 'most unfinished resumable uploads of one key', 10_000),
    sweepMinutes: count(60, 'interval at which files that no model refers to are removed, minutes', 10_080),
    scrubBytesPerSecond: bytes(
      2 * 1024 * 1024,
      'data per second that the background check of stored files reads',
    ),
  })

const makeFleet = () =>
  z.strictObject({
    reportS: z
      .number()
      .min(0.1)
      .max(86_400)
      .default(180)
      .describe('time between two reports of a gateway to its hub, seconds; a quarter of it is random'),
    modules: z
      .boolean()
      .default(true)
      .describe('true: profiles of the hub may install modules, which are programs; false: they are refused'),
    releases: z
      .enum(['stage', 'off'])
      .default('stage')
      .describe(
        'stage: releases of the hub, signed with update.publicKey, wait for `fieldgate update --staged`; off: refused',
      ),
  })

const makeUpdate = () =>
  z.strictObject({
    publicKey: z
      .string()
      .regex(/^[A-Za-z0-9+/]{43}=$/, 'expected an Ed25519 key, 32 bytes in base64')
      .optional()
      .describe(
        'Ed25519 public key that releases are signed with, 32 bytes in base64; absent: update is refused',
      ),
    restartCommand: z
      .array(z.string().min(1).max(4096))
      .max(100)
      .default([])
      .describe(
        'program and arguments that restart the gateway after an update; empty: it is not run by a service',
      ),
    readyS: z
      .int()
      .min(1)
      .max(3600)
      .default(90)
      .describe('time after which an updated gateway that is not ready is rolled back, seconds'),
  })

const makeEncryption = () =>
  z.strictObject({
    keyFile: file(
      'key that encrypts secrets of upstreams and columns with need_crypto; absent: the systemd credential secret.key if there is one, else secret.key in the data directory',
    ),
  })

/**
 * Makes the shape of the settings, as in `edge.config.json`; each can be given as `FIELDGATE_SECTION__NAME`, some by a flag.
 * It has 3 MB and is used once by most starts, so that nothing keeps it.
 */
export const makeConfigSchema = () =>
  z.strictObject({
    $schema: z.string().max(4096).optional().describe('URL of the JSON Schema, for editors; not used'),
    dataDir: z
      .string()
      .min(1)
      .max(4096)
      .default('data')
      .describe('directory of all data that the gateway stores'),
    role: z
      .enum(['gateway', 'hub'])
      .default('gateway')
      .describe(
        'gateway: rows in SQLite and bytes in files of the data directory; hub: rows in PostgreSQL and bytes in an S3-compatible store, shared by any number of processes',
      ),
    service: makeService().prefault({}),
    server: makeServer().prefault({}),
    log: makeLogSettings().prefault({}),
    encryption: makeEncryption().prefault({}),
    session: makeSession().prefault({}),
    limits: makeLimits().prefault({}),
    reads: makeReads().prefault({}),
    backup: makeBackup().prefault({}),
    riskmap: makeRiskmap().prefault({}),
    routing: makeRouting().prefault({}),
    tiles: makeTiles().prefault({}),
    modelStore: makeModelStore().prefault({}),
    sync: makeSync().prefault({}),
    fleet: makeFleet().prefault({}),
    hub: makeHub().prefault({}),
    update: makeUpdate().prefault({}),
    dataproc: makeDataproc().prefault({}),
    ingest: makeIngest().prefault({}),
    retention: makeRetention().prefault({}),
  })

export type Config = z.output<ReturnType<typeof makeConfigSchema>>
