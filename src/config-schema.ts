import { z } from 'zod'
import { parseOffset } from './datetime.js'

const bytes = (defaultBytes: number, what: string) =>
  z.int().min(1024).max(Number.MAX_SAFE_INTEGER).default(defaultBytes).describe(`${what}, bytes`)
const ms = (defaultMs: number, what: string) =>
  z.int().min(1).max(86_400_000).default(defaultMs).describe(`${what}, milliseconds`)
const count = (defaultCount: number, what: string, max = 1_000_000) =>
  z.int().min(1).max(max).default(defaultCount).describe(what)
const file = (what: string) => z.string().min(1).max(4096).optional().describe(what)

const Service = z.strictObject({
  headerPrefix: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9]{0,31}$/, 'expected 1 to 32 letters or digits, a letter first')
    .default('Svc')
    .describe('first word of the session headers: Svc gives Svc-Session-Token'),
  apiName: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,31}$/, 'expected 1 to 32 lower case letters or digits, a letter first')
    .default('svc')
    .describe('event data, risk maps and routes are at /api/v1/{apiName}api/jsonrpc'),
  routeKey: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_]{0,31}$/, 'expected 1 to 32 letters, digits or _, a letter first')
    .default('geojson')
    .describe('result key that holds the route'),
  timeZone: z
    .string()
    .refine((text) => parseOffset(text) !== undefined, 'expected an offset such as +09:00')
    .default('+09:00')
    .describe('offset for printed datetimes, and for datetimes that come without one'),
})

const Server = z.strictObject({
  host: z.string().min(1).max(255).default('127.0.0.1').describe('address to listen on'),
  port: z.int().min(0).max(65_535).default(8080).describe('port to listen on; 0 picks a free one'),
  tlsCertFile: file('PEM certificate chain; with tlsKeyFile the gateway speaks https'),
  tlsKeyFile: file('PEM private key'),
  openTo: z
    .array(z.enum(['/metrics', '/ogc/']))
    .max(2)
    .default([])
    .describe('paths that need no key'),
  publicUrl: z
    .string()
    .regex(
      /^https?:\/\/[^/?#\s]+(\/[^?#\s]*[^/?#\s])?$/,
      'expected http:// or https://, a host, and no slash at the end',
    )
    .max(500)
    .optional()
    .describe(
      'address for links in answers, where a proxy stands before the gateway; absent: the one asked at',
    ),
  drainMs: ms(10_000, 'how long running calls may go on after SIGTERM'),
})

const LogSettings = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('least level that is written'),
})

const Session = z.strictObject({
  maxAgeS: z.int().min(1).max(315_360_000).default(31_536_000).describe('longest life of a session, seconds'),
})

const Limits = z.strictObject({
  bodyBytes: bytes(4 * 1024 * 1024, 'largest JSON-RPC body of every API but the data loader'),
  loaderBodyBytes: bytes(100_000_000, 'largest add_record body'),
  inlineBodyBytes: bytes(1024 * 1024, 'add_record bodies above this go through a file and the job worker'),
  batch: count(100, 'most requests in one JSON-RPC batch', 10_000),
  jsonDepth: count(64, 'deepest nesting of a JSON body', 1000),
  headerBytes: z.int().min(4096).max(1_048_576).default(16_384).describe('largest request headers, bytes'),
  connections: count(512, 'most open connections', 65_535),
  pipelined: count(32, 'most unanswered requests on one connection', 10_000),
  headerMs: ms(10_000, 'time a client has to send its headers'),
  bodyIdleMs: ms(20_000, 'silence allowed while a body is read'),
  bodyMs: ms(600_000, 'longest time a JSON-RPC body may take; uploads and streams take as long as they move'),
  keepAliveMs: ms(30_000, 'how long an idle connection is kept'),
  writeIdleMs: ms(60_000, 'how long a client may stop reading an answer'),
  callsPerMinutePerKey: count(
    1_200_000,
    'calls a minute that one key may make; each batch item counts',
    1_000_000_000,
  ),
  callsPerMinutePerAddress: count(
    1_200_000,
    'calls a minute from one address; each batch item counts',
    1_000_000_000,
  ),
  signInFailuresPerMinute: count(30, 'failed sign-ins a minute from one address before it must wait'),
  pageRows: count(1000, 'rows read at a time while a long result is streamed', 100_000),
  ogcFeatures: count(10_000, 'most features of one OGC API answer', 100_000),
  streamBatch: count(5000, 'rows a transaction of the stream endpoint', 100_000),
  streamLineBytes: bytes(16 * 1024 * 1024, 'longest line of the stream endpoint'),
  gzipRatio: count(
    200,
    'most bytes that each byte of a gzip stream may become, beyond the first 16 MiB',
    2000,
  ),
  nameChars: count(
    200,
    'longest name of a table, dataset, citation or model store that is made, characters',
    200,
  ),
  initRecords: count(10_000, 'most records of one init_record'),
  meshCells: count(1_000_000, 'most mesh cells of one risk map answer', 100_000_000),
  modelBytes: bytes(4 * 1024 * 1024 * 1024, 'largest model file'),
  modelParts: count(6, 'most parts of a model upload that are looked at; it has two', 100),
  modelDataBytes: bytes(1024 * 1024, 'largest data part of a model upload'),
  diskReserveBytes: bytes(64 * 1024 * 1024, 'free space below which writes are refused'),
})

const Backup = z.strictObject({
  dir: file(
    'directory of the backups that the gateway makes by itself, best on another disk; none are made without it',
  ),
  everyHours: count(24, 'a backup is made this often, hours', 8760),
  keep: count(7, 'newest backups that are kept there', 9999),
  maxBytesPerSecond: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(32 * 1024 * 1024)
    .describe('how fast such a backup reads, bytes a second; 0 for no limit'),
})

const Riskmap = z.strictObject({
  levelColumn: z
    .string()
    .min(1)
    .max(63)
    .default('risk')
    .describe('integer column that holds the level 0 to 10'),
  themes: z
    .record(z.string().min(1).max(63), z.string().min(1).max(63))
    .default({})
    .describe('theme → data_name, where they differ'),
})

const Routing = z.strictObject({
  maps: z
    .array(z.string().min(1).max(4096))
    .max(100)
    .default([])
    .describe('further map files; every maps/*.graph of the data directory is served anyway'),
  maxMapBytes: bytes(512 * 1024 * 1024, 'largest map file that is loaded'),
  maxSnapM: z
    .number()
    .min(1)
    .max(100_000)
    .default(1000)
    .describe('farthest a point may be from a road, metres'),
  maxVia: count(100, 'most via points of one request', 1000),
  maxThemes: count(16, 'most risk themes of one request', 100),
  maxAvoidPolygons: count(1000, 'most avoid polygons of one request', 100_000),
  maxAlternatives: count(5, 'most routes of one answer', 10),
  maxMatrixPoints: count(200, 'most points on either side of a matrix', 2000),
  maxSettledNodes: count(20_000_000, 'most nodes that one search may settle', 1_000_000_000),
  overlayCacheBytes: bytes(64 * 1024 * 1024, 'memory for risk overlays'),
  profileCacheBytes: bytes(128 * 1024 * 1024, 'memory for prepared cost profiles'),
  riskSlotS: z
    .int()
    .min(1)
    .max(86_400)
    .default(600)
    .describe('length of the next slot that is prepared ahead for a theme in use, seconds'),
  maxQueue: count(64, 'searches that may wait', 10_000),
  timeLimitMs: ms(30_000, 'longest time a search may wait and run'),
})

const Tiles = z.strictObject({
  cacheBytes: bytes(16 * 1024 * 1024, 'memory for vector tiles that are kept'),
})

const ModelStore = z.strictObject({
  autoCreate: z.boolean().default(true).describe('a first put to an unknown model store makes the store'),
  location: z
    .tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)])
    .default([0, 0])
    .describe('lng, lat of this device, told with each model'),
  uploadExpiryS: z
    .int()
    .min(60)
    .max(315_360_000)
    .default(604_800)
    .describe('a resumable upload without activity for so long is removed, seconds'),
  maxOpenUploads: count(64, 'most unfinished resumable uploads of one key', 10_000),
  sweepMinutes: count(60, 'bytes that no model names are removed this often, minutes', 10_080),
  scrubBytesPerSecond: bytes(2 * 1024 * 1024, 'how fast stored bytes are read and checked in the background'),
})

const Sync = z.strictObject({
  push: z
    .enum(['auto', 'manual'])
    .default('auto')
    .describe('auto: what is put into a store goes to its upstreams by itself; manual: only by fl.feedback'),
  pushStates: z
    .array(z.literal([10, 20, 30]))
    .max(3)
    .default([10, 20, 30])
    .describe('which models go by themselves: 10 put here, 20 received as feedback, 30 aggregated here'),
  waitS: z
    .int()
    .min(0)
    .max(3600)
    .default(30)
    .describe('how long fl.feedback and fl.request_transfer wait, seconds'),
  idleTimeoutS: z
    .int()
    .min(1)
    .max(3600)
    .default(60)
    .describe('an attempt ends after so long without a byte moving, seconds'),
  connectTimeoutS: z.int().min(1).max(600).default(15).describe('time to connect to an upstream, seconds'),
  retryBaseS: z
    .number()
    .min(0.01)
    .max(3600)
    .default(5)
    .describe('first wait before a retry is at most this, seconds'),
  retryCapS: z.number().min(0.01).max(86_400).default(1800).describe('longest wait before a retry, seconds'),
  maxBytesPerSecond: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('bandwidth that sending may use, bytes a second over all upstreams; 0 for no limit'),
  windows: z
    .array(z.string().regex(/^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$/, 'expected HH:MM-HH:MM'))
    .max(24)
    .default([])
    .describe('local times in which sending is allowed, for instance 22:00-05:30; empty for always'),
  concurrency: count(4, 'upstreams that are served at the same time', 64),
  paused: z.boolean().default(false).describe('nothing is sent or fetched'),
  caFile: file('PEM certificates of private authorities, trusted beside the public ones'),
  allowInsecure: z
    .array(z.string().min(1).max(255))
    .max(100)
    .default([])
    .describe('hosts that may be reached by http: without TLS'),
  allowPrivate: z.boolean().default(true).describe('upstreams may have addresses of private networks'),
  allowLoopback: z.boolean().default(false).describe('upstreams may be on this machine (tests, demos)'),
  replyBytes: bytes(4 * 1024 * 1024, 'largest answer of an upstream, apart from model files'),
})

const Update = z.strictObject({
  publicKey: z
    .string()
    .regex(/^[A-Za-z0-9+/]{43}=$/, 'expected an Ed25519 key, 32 bytes in base64')
    .optional()
    .describe('Ed25519 key that must have signed a release, 32 bytes in base64; without it update refuses'),
  restartCommand: z
    .array(z.string().min(1).max(4096))
    .max(100)
    .default([])
    .describe(
      'program and arguments that restart the gateway after an update; empty when no service runs it',
    ),
  readyS: z
    .int()
    .min(1)
    .max(3600)
    .default(90)
    .describe('an updated gateway that is not ready after so long is replaced by the old one, seconds'),
})

const Dataproc = z.strictObject({
  backend: z
    .union([z.literal('embedded'), z.url({ protocol: /^https?$/ }).max(2048)], {
      error: 'expected embedded, or the http: or https: address of a backend',
    })
    .default('embedded')
    .meta({ type: 'string' })
    .describe('embedded runs modules here; an http: or https: address is sent the requests instead'),
  modulesDir: file('directory of the modules; modules in the data directory unless given'),
  nodePath: file('Node that runs .js and .ts scripts; the one that runs the gateway unless given'),
  isolation: z
    .enum(['auto', 'namespaces', 'none'])
    .default('auto')
    .describe(
      'namespaces: a module sees no file of the data directory but its own, and no other process; auto: where the system allows it',
    ),
  maxConcurrent: count(2, 'modules that run at the same time', 1000),
  maxQueue: count(16, 'runs that may wait for their turn', 10_000),
  timeLimitS: z
    .int()
    .min(1)
    .max(604_800)
    .default(600)
    .describe('longest time of a run, or of waiting for a backend, seconds'),
  memoryBytes: bytes(256 * 1024 * 1024, 'memory that all processes of a run may hold together'),
  diskBytes: bytes(1024 * 1024 * 1024, 'files that a run may hold: output, work, session and application'),
  printBytes: bytes(1024 * 1024, 'what a run may print, standard output and error together'),
  maxProcesses: count(64, 'processes of one run', 10_000),
  maxModels: count(1000, 'models that one input may hand over', 100_000),
  logRuns: count(200, 'runs whose logs are kept', 100_000),
  logBytes: bytes(32 * 1024 * 1024, 'what the logs of all runs may take'),
  connectTimeoutS: z.int().min(1).max(600).default(10).describe('time to connect to a backend, seconds'),
  requestBytes: bytes(64 * 1024 * 1024, 'largest request that is sent on to a backend'),
  answerBytes: bytes(256 * 1024 * 1024, 'largest answer that is taken from a backend'),
})

/** Every setting: `edge.config.json`, `FIELDGATE_SECTION__NAME` in the environment, and a few flags. */
export const ConfigSchema = z.strictObject({
  $schema: z.string().max(4096).optional().describe('ignored; for editors'),
  dataDir: z.string().min(1).max(4096).default('data').describe('directory of everything the gateway keeps'),
  service: Service.prefault({}),
  server: Server.prefault({}),
  log: LogSettings.prefault({}),
  session: Session.prefault({}),
  limits: Limits.prefault({}),
  backup: Backup.prefault({}),
  riskmap: Riskmap.prefault({}),
  routing: Routing.prefault({}),
  tiles: Tiles.prefault({}),
  modelStore: ModelStore.prefault({}),
  sync: Sync.prefault({}),
  update: Update.prefault({}),
  dataproc: Dataproc.prefault({}),
})

export type Config = z.output<typeof ConfigSchema>
