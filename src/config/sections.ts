import { z } from 'zod'

/** Number of bytes with a default. */
export const bytes = (defaultBytes: number, what: string) =>
  z.int().min(1024).max(Number.MAX_SAFE_INTEGER).default(defaultBytes).describe(`${what}, bytes`)
/** Time in milliseconds with a default. */
export const ms = (defaultMs: number, what: string) =>
  z.int().min(1).max(86_400_000).default(defaultMs).describe(`${what}, milliseconds`)
/** Positive number with a default. */
export const count = (defaultCount: number, what: string, max = 1_000_000) =>
  z.int().min(1).max(max).default(defaultCount).describe(what)
/** Path of a file or directory, which may be absent. */
export const file = (what: string) => z.string().min(1).max(4096).optional().describe(what)

/** Settings `reads`: threads that read tables and datasets. */
export const makeReads = () =>
  z.strictObject({
    threads: count(2, 'most threads that read tables and datasets; each takes about 10 MB while it runs', 64),
    maxOpen: count(
      16,
      'most answers of tables and datasets that are made at the same time; in a process of a hub 8 at most',
      1000,
    ),
    maxQueue: count(256, 'most reads of tables and datasets that wait', 100_000),
    timeLimitMs: ms(
      30_000,
      'longest time that a caller waits for the parts of one answer of tables or datasets, summed',
    ),
    walBytes: bytes(
      256 * 1024 * 1024,
      'size of the write-ahead log of data.db above which the oldest answer is ended that has taken longer than reads.timeLimitMs: its state of the tables keeps the log from being reused',
    ),
  })

/** Settings `dataproc`: modules. */
export const makeDataproc = () =>
  z.strictObject({
    backend: z
      .union([z.literal('embedded'), z.url({ protocol: /^https?$/ }).max(2048)], {
        error: 'expected embedded, or the http: or https: address of a backend',
      })
      .default('embedded')
      .meta({ type: 'string' })
      .describe('embedded: modules run on this device; a URL: requests are forwarded to that backend'),
    modulesDir: file('directory of the modules; absent: modules/ in the data directory'),
    nodePath: file('Node executable for .js and .ts scripts; absent: the one that runs the gateway'),
    network: z
      .enum(['none', 'host'])
      .default('none')
      .describe('network of isolated runs: none, not even 127.0.0.1; host is that of the device'),
    isolation: z
      .enum(['auto', 'namespaces', 'none'])
      .default('auto')
      .describe(
        'namespaces: a module sees only its own files and processes; auto: namespaces where the system allows them; none: a module sees all files of the user',
      ),
    maxConcurrent: count(2, 'modules that run at the same time', 1000),
    maxQueue: count(16, 'most runs that wait', 10_000),
    timeLimitS: z
      .int()
      .min(1)
      .max(604_800)
      .default(600)
      .describe('longest time of a run, or of a request to the backend, seconds'),
    memoryBytes: bytes(256 * 1024 * 1024, 'memory limit of a run, over all its processes'),
    diskBytes: bytes(
      1024 * 1024 * 1024,
      'disk limit of a run: its output, work, session and application files',
    ),
    printBytes: bytes(1024 * 1024, 'limit of the text that a run prints, standard output and error together'),
    maxProcesses: count(64, 'most processes of a run', 10_000),
    maxModels: count(1000, 'most models of one input', 100_000),
    logRuns: count(200, 'number of runs whose logs are kept', 100_000),
    logBytes: bytes(32 * 1024 * 1024, 'size limit of the logs of all runs'),
    connectTimeoutS: z.int().min(1).max(600).default(10).describe('time to connect to a backend, seconds'),
    requestBytes: bytes(64 * 1024 * 1024, 'largest request that is forwarded to a backend'),
    answerBytes: bytes(256 * 1024 * 1024, 'largest answer that is accepted from a backend'),
  })

const names = (what: string) => z.array(z.string().min(1).max(1000)).max(1000).default([]).describe(what)

/** Settings of `modelStore` on signatures. */
export const makeSignedModels = () => ({
  requireSignature: z
    .boolean()
    .default(false)
    .describe('true: every model without a valid signature of a trusted key is refused'),
  signedStores: names('model stores that take only models with a valid signature of a trusted key'),
  signedKinds: names('values of model_kind that need a valid signature of a trusted key'),
  trustedKeys: z
    .array(z.string().min(1).max(10_000))
    .max(100)
    .default([])
    .describe('public keys that sign models, each a PEM file or its text: P-256, P-384 or P-521'),
})
