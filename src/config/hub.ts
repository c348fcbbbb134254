import { z } from 'zod'
import { bytes, count, file, ms } from './sections.js'

const name = (what: string, max = 255) => z.string().min(1).max(max).optional().describe(what)

/** True for a host, or a host and a port; an IPv6 address with a port stands in brackets. */
function isHost(text: string): boolean {
  const port = /:(\d{1,5})$/.exec(text)?.[1]
  const isBracketed = /^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(text)
  const isPlain = /^[^\s:[\]@?#]+(:\d{1,5})?$/.test(text)
  return (isBracketed || isPlain) && (port === undefined || (Number(port) > 0 && Number(port) <= 65_535))
}

const makeDatabase = () =>
  z.strictObject({
    hosts: z
      .array(
        z.string().min(1).max(300).refine(isHost, 'expected a host such as db1.example or db1.example:5432'),
      )
      .max(16)
      .default([])
      .describe('PostgreSQL servers, host or host:port: the primary and its standbys, in any order'),
    name: name('database of the hub', 63),
    user: name('role of the hub; it needs no superuser, it owns its schema', 63),
    password: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('password of the role; better passwordFile; absent: none'),
    passwordFile: file('file that holds the password of the role and nothing else'),
    schema: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'expected 1 to 63 lower case letters, digits or _')
      .default('fieldgate')
      .describe('schema of the tables; each hub has its own'),
    tls: z
      .enum(['off', 'require', 'verify'])
      .default('verify')
      .describe(
        'verify: TLS, and the certificate must be that of the host; require: TLS with any certificate; off: no TLS',
      ),
    tlsCaFile: file(
      'PEM file of the authorities that sign certificates of the servers; absent: those of the system',
    ),
    connections: z
      .int()
      .min(3)
      .max(1000)
      .default(10)
      .describe('most connections of one process; all processes together stay below max_connections'),
  })

const makeBytes = () =>
  z.strictObject({
    endpoint: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional()
      .meta({ type: 'string' })
      .describe('address of the S3-compatible store, http: or https:'),
    bucket: name('bucket of the hub; each hub has its own bucket or prefix'),
    prefix: z
      .string()
      .regex(/^([A-Za-z0-9._-]+\/)*$/, 'expected letters, digits, . _ - and a slash at the end')
      .max(500)
      .default('fieldgate/')
      .describe('begins the key of each object'),
    region: z.string().min(1).max(100).default('us-east-1').describe('region that requests are signed for'),
    accessKeyFile: file('file that holds the access key and nothing else'),
    secretKeyFile: file('file that holds the secret of the access key and nothing else'),
    pathStyle: z
      .boolean()
      .default(true)
      .describe('true: the bucket is the first part of the path; false: it begins the host name'),
    caFile: file(
      'PEM file of the authorities that sign the certificate of the store; absent: those of the system',
    ),
    timeoutMs: ms(8000, 'longest silence of the store; a request is sent four times before it fails'),
    connections: count(16, 'most requests to the store at a time, of one process', 1000),
    partBytes: z
      .int()
      .min(5 * 1024 * 1024)
      .max(1024 * 1024 * 1024)
      .default(16 * 1024 * 1024)
      .describe('size of the parts of a large upload, bytes'),
    copyBytes: bytes(
      4 * 1024 * 1024 * 1024,
      'copies of objects on the disk of a process, for threads that need files; the least used go',
    ),
  })

/** Settings `hub`: where a hub keeps rows and bytes. */
export const makeHub = () =>
  z.strictObject({
    database: makeDatabase().prefault({}),
    bytes: makeBytes().prefault({}),
    presign: z
      .boolean()
      .default(false)
      .describe(
        'true: callers who ask with ?redirect=yes get large models from the store itself, by a link that holds five minutes',
      ),
    requireSync: z
      .boolean()
      .default(false)
      .describe(
        'true: nothing is acknowledged unless PostgreSQL names a synchronous standby, and it has the write',
      ),
  })

export type HubSettings = z.output<ReturnType<typeof makeHub>>
