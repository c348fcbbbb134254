import { z } from 'zod'
import { bytes, count, ms } from './sections.js'

const limitsOfBodies = () => ({
  bodyBytes: bytes(4 * 1024 * 1024, 'largest JSON-RPC body of every API except the data loader'),
  loaderBodyBytes: bytes(100_000_000, 'largest JSON-RPC body of the data loader'),
  inlineBodyBytes: bytes(
    1024 * 1024,
    'largest body of the data loader that is held in memory; larger ones go through a file',
  ),
  bytesInFlight: bytes(
    64 * 1024 * 1024,
    'memory of all request bodies and answers on their way; beyond it requests wait in turns, and are then refused with 503',
  ),
  valueBytes: bytes(
    8 * 1024 * 1024,
    'most bytes of one value, file, or all values of one record together; larger ones are refused, stored ones by fieldgate data export alone',
  ),
})

const limitsOfConnections = () => ({
  batch: count(100, 'most requests in one JSON-RPC batch', 10_000),
  jsonDepth: count(64, 'deepest nesting of a JSON body', 1000),
  headerBytes: z.int().min(4096).max(1_048_576).default(16_384).describe('largest request headers, bytes'),
  connections: count(
    512,
    'most open connections; at the limit an idle one is closed for a new one, first those without sign-in',
    65_535,
  ),
  connectionsPerAddress: count(
    256,
    'most open connections of one IP address, or one /64 network of IPv6; trusted proxies have no such limit',
    65_535,
  ),
  pipelined: count(32, 'most unanswered requests on one connection', 10_000),
  headerMs: ms(10_000, 'time to receive the headers of a request'),
  bodyIdleMs: ms(20_000, 'longest silence while a body is received'),
  bodyMs: ms(
    600_000,
    'longest time to receive a JSON-RPC body; uploads and streams are limited by bodyIdleMs alone',
  ),
  compressedAnswers: z
    .int()
    .min(0)
    .max(10_000)
    .default(16)
    .describe(
      'most answers that are compressed at once, where callers accept gzip or zstd; others are sent as they are, with 0 all',
    ),
  keepAliveMs: ms(30_000, 'time after which an idle connection is closed'),
  writeIdleMs: ms(60_000, 'time after which a client that stopped reading an answer is disconnected'),
})

const limitsOfCallers = () => ({
  callsPerMinutePerKey: count(
    120_000,
    'calls per minute of one API key; each item of a batch counts',
    1_000_000_000,
  ),
  callsPerMinutePerAddress: count(
    240_000,
    'calls per minute from one IP address; each item of a batch counts',
    1_000_000_000,
  ),
  anonymousPerMinute: count(
    1200,
    'requests without credentials per minute from one IP address, or one /64 network of IPv6; health is not counted',
    1_000_000_000,
  ),
  signInFailuresPerMinute: count(
    30,
    'failed sign-ins per minute with one key id from one IP address; four times as many over all key ids. Further failures are refused with 429, right credentials never are',
  ),
  changeReaders: count(256, 'most open streams of changes of tables', 10_000),
  changeReadersPerKey: count(200, 'most open streams of changes of one API key', 10_000),
})

const limitsOfRows = () => ({
  pageRows: count(1000, 'rows of one page while a long result is streamed', 100_000),
  exportRows: count(
    1_000_000,
    'most rows of a GeoPackage that is sent; csv and geojson have no limit',
    100_000_000,
  ),
  ogcFeatures: count(10_000, 'most features in one answer of OGC API', 100_000),
  streamBatch: count(5000, 'rows of one transaction of the stream endpoint', 100_000),
  streamLineBytes: bytes(16 * 1024 * 1024, 'longest line of the stream endpoint'),
  gzipRatio: count(
    200,
    'largest ratio of decompressed to compressed bytes of a gzip stream, after the first 16 MiB',
    2000,
  ),
  nameChars: count(200, 'longest name of a new table, dataset, citation or model store, characters', 200),
  initRecords: count(10_000, 'most records of one init_record'),
  meshCells: count(1_000_000, 'most mesh cells in one risk map answer', 100_000_000),
  modelBytes: bytes(4 * 1024 * 1024 * 1024, 'largest model file'),
  modelParts: count(
    6,
    'most parts of a model upload that are read; a valid one has two, or three with a signature',
    100,
  ),
  modelDataBytes: bytes(1024 * 1024, 'largest data part of a model upload'),
  diskReserveBytes: bytes(64 * 1024 * 1024, 'free space below which writes are refused'),
})

/** Settings `limits`. */
export const makeLimits = () =>
  z.strictObject({ ...limitsOfBodies(), ...limitsOfConnections(), ...limitsOfCallers(), ...limitsOfRows() })
