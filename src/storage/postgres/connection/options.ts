import type { ConnectionOptions } from 'node:tls'

/** Address of a PostgreSQL server: the primary or a standby. */
export interface PostgresHost {
  /** name or IP address, or the folder of a socket */
  readonly host: string
  readonly port: number
}

/** Time limits and sizes. */
export interface PostgresLimits {
  /** most connections of this process */
  readonly connections: number
  /** one attempt to connect to one host, ms */
  readonly connectMs: number
  /** wait for a free connection, ms */
  readonly waitMs: number
  /** one statement, ms; the server ends it, and the driver a second later where the server is silent */
  readonly statementMs: number
  /** answer to a commit, ms: a commit waits for the synchronous standby, and no server limit ends that */
  readonly commitMs: number
  /** time during which failed work is repeated, ms */
  readonly repeatMs: number
}

/** Limits unless others are given: a caller gets an answer within 30 s, whatever fails. */
export const DEFAULT_LIMITS: PostgresLimits = {
  connections: 10,
  connectMs: 2000,
  waitMs: 5000,
  statementMs: 10_000,
  commitMs: 5000,
  repeatMs: 10_000,
}

export interface PostgresOptions {
  /** at least one; the primary is found among them */
  readonly hosts: readonly PostgresHost[]
  readonly database: string
  readonly user: string
  readonly password?: string
  readonly tls?: ConnectionOptions
  /** schema of the tables, `fieldgate` unless given: lower-case letters, digits and underscores */
  readonly schema?: string
  /** writes nothing unless a synchronous standby is named */
  readonly requiresSync?: boolean
  readonly limits?: Partial<PostgresLimits>
  /** numbers from 0 to 1, which spread repeats */
  readonly random: () => number
  /** receives each loss of a connection and each repeat of a write, for the log */
  readonly onFault?: (fault: { readonly message: string; readonly host?: PostgresHost }) => void
}

/** Options with every default filled in. */
export interface OpenOptions extends Required<Omit<PostgresOptions, 'tls' | 'limits'>> {
  readonly tls: ConnectionOptions | false
  readonly limits: PostgresLimits
}

/** Fills in the defaults. @throws Error for options that cannot be used */
export function fillOptions(options: PostgresOptions): OpenOptions {
  const { hosts, schema = 'fieldgate' } = options
  if (hosts.length === 0) throw new Error('found no PostgreSQL host, expected at least one')
  // the name becomes part of statements, where no parameter can stand
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new Error(
      `found schema ${JSON.stringify(schema)}, expected up to 63 lower-case letters, digits and underscores`,
    )
  }
  return {
    ...options,
    hosts,
    schema,
    password: options.password ?? '',
    tls: options.tls ?? false,
    requiresSync: options.requiresSync ?? false,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    onFault: options.onFault ?? (() => undefined),
  }
}

/** Text of an address, for messages. */
export function hostText({ host, port }: PostgresHost): string {
  return `${host}:${port}`
}
