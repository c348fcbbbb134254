/**
 * Errors that a caller can receive: name → JSON-RPC code, HTTP status of the REST form and of refusals before
 * dispatch, and default message. Codes from -32768 to -32000 belong to JSON-RPC; ours start at 1000, with a
 * block of 1000 for each room. `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  PARSE_ERROR: { code: -32700, status: 400, message: 'The body is not valid JSON' },
  INVALID_REQUEST: { code: -32600, status: 400, message: 'The body is not a JSON-RPC 2.0 request' },
  METHOD_NOT_FOUND: { code: -32601, status: 404, message: 'The path has no method of this name' },
  INVALID_PARAMS: { code: -32602, status: 400, message: 'Parameters do not fit the method' },
  INTERNAL: { code: -32603, status: 500, message: 'The gateway failed; its log has the reason' },

  UNAUTHENTICATED: { code: 1001, status: 401, message: 'Credentials are missing or wrong' },
  FORBIDDEN: { code: 1002, status: 403, message: 'The key lacks the scope that this method needs' },
  NOT_FOUND: { code: 1003, status: 404, message: 'Nothing is served at this path' },
  METHOD_NOT_ALLOWED: { code: 1004, status: 405, message: 'The path does not support this HTTP method' },
  BODY_TIMEOUT: { code: 1005, status: 408, message: 'The request body stalled' },
  BODY_TOO_LARGE: { code: 1006, status: 413, message: 'The request body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { code: 1007, status: 415, message: 'The path does not accept this content type' },
  HEADERS_TOO_LARGE: { code: 1008, status: 431, message: 'The request headers are too large' },
  RATE_LIMITED: { code: 1009, status: 429, message: 'Too many calls' },
  UNAVAILABLE: { code: 1010, status: 503, message: 'The gateway is starting or stopping' },
  DISK_FULL: { code: 1011, status: 507, message: 'The device is out of disk space; reads still work' },
  ALERT_UNAVAILABLE: { code: 1012, status: 501, message: 'The edge variant has no alert API' },
  BAD_HTTP: { code: 1013, status: 400, message: 'The HTTP request cannot be read' },
  BAD_CONDITION: { code: 1014, status: 400, message: 'The condition cannot be used' },
  BUSY: { code: 1015, status: 503, message: 'The queue for this kind of work is full' },
  CANCELLED: { code: 1016, status: 499, message: 'The caller disconnected or the gateway is stopping' },
  TOO_EXPENSIVE: { code: 1018, status: 400, message: 'The condition would take too much work' },
  VALUE_TOO_LARGE: { code: 1019, status: 422, message: 'A stored value is larger than the gateway may read' },
  TIME_LIMIT: { code: 1017, status: 503, message: 'The work took longer than its limit' },
  NOT_ACCEPTABLE: {
    code: 1030,
    status: 406,
    message: 'The path has no representation that the Accept header allows',
  },

  STORAGE_DAMAGED: { code: 1031, status: 500, message: 'The stored data is damaged on disk' },
  STORAGE_FAILED: { code: 1032, status: 503, message: 'The disk cannot be read or written' },
  DATABASE_UNAVAILABLE: {
    code: 1033,
    status: 503,
    message: 'The database of the hub cannot be reached, or cannot acknowledge',
  },
  OBJECTS_UNAVAILABLE: {
    code: 1034,
    status: 503,
    message: 'The object store of the hub cannot be reached, or refuses',
  },

  TOO_MANY_SESSIONS: { code: 2001, status: 429, message: 'The key has too many open sessions' },

  UNKNOWN_MODULE: { code: 3001, status: 404, message: 'No module has this name' },
  UNKNOWN_SCRIPT: { code: 3002, status: 404, message: 'The module has no method of this name' },
  BAD_MODULE: { code: 3003, status: 500, message: 'The definition of the module cannot be used' },
  MODULE_FAILED: { code: 3004, status: 422, message: 'The module failed' },
  MODULE_LIMIT: { code: 3005, status: 422, message: 'The module was stopped because it exceeded a limit' },
  BAD_OUTPUT: { code: 3006, status: 422, message: 'The output of the module cannot be used' },
  BACKEND_UNREACHABLE: { code: 3007, status: 503, message: 'The dataproc backend cannot be reached' },
  BACKEND_TIMEOUT: { code: 3008, status: 504, message: 'The dataproc backend did not answer in time' },
  BAD_BACKEND_ANSWER: {
    code: 3009,
    status: 502,
    message: 'The answer of the dataproc backend cannot be used',
  },
  UNKNOWN_TRIGGER: { code: 3010, status: 404, message: 'No trigger has this name' },
  TRIGGER_EXISTS: { code: 3011, status: 409, message: 'A trigger with this name exists' },

  ALREADY_REGISTERED: { code: 4001, status: 409, message: 'A table with this name is already registered' },
  UNKNOWN_TABLE: { code: 4002, status: 404, message: 'No table has this name' },
  BAD_RECORD: {
    code: 4003,
    status: 400,
    message: 'A record does not fit the table',
  },
  RECORD_EXISTS: { code: 4004, status: 409, message: 'A record with this key already exists' },
  UNKNOWN_FILE: { code: 4005, status: 404, message: 'No file is stored under this path' },
  TABLE_CITED: { code: 4006, status: 409, message: 'A citation refers to the table' },

  BAD_MAP_FILE: { code: 5001, status: 500, message: 'The map file cannot be used' },
  BAD_EXTRACT: { code: 5002, status: 400, message: 'The OpenStreetMap extract cannot be used' },
  BAD_BASE_MAP: { code: 5004, status: 500, message: 'The base map cannot be used' },
  NO_BASE_MAP: { code: 5005, status: 404, message: 'The map has no base map' },
  TOO_MANY_CELLS: { code: 5003, status: 400, message: 'The risk map has too many mesh cells of this degree' },
  OUTSIDE_MAP: {
    code: 6001,
    status: 422,
    message: 'A point lies outside the map, or too far from its roads',
  },
  NO_ROUTE: { code: 6002, status: 422, message: 'No route connects two consecutive points' },
  UNKNOWN_MAP: { code: 6003, status: 404, message: 'No map has this name' },
  UNKNOWN_THEME: { code: 6004, status: 404, message: 'No risk map theme has this name' },
  BAD_SENSITIVITY: {
    code: 6005,
    status: 400,
    message: 'Sensitivities are 11 finite numbers, each 0 or more',
  },
  TOO_MANY_VIA: { code: 6006, status: 400, message: 'Too many via points' },
  TOO_MANY_ITEMS: { code: 6007, status: 400, message: 'A list in the request is longer than the limit' },
  SEARCH_TOO_LARGE: { code: 6008, status: 503, message: 'The search would settle more nodes than the limit' },
  UNKNOWN_DATASET: { code: 7001, status: 404, message: 'No dataset has this name' },
  ALREADY_EXISTS: { code: 7002, status: 409, message: 'A dataset with this name already exists' },
  UNKNOWN_CITATION: { code: 7003, status: 404, message: 'No citation has this name' },
  CITATION_DAMAGED: { code: 7004, status: 500, message: 'Rows of the citation are damaged on disk' },
  CITATION_DIFFERS: { code: 7005, status: 409, message: 'The citation has other rows here' },

  NO_UPSTREAM: { code: 8001, status: 404, message: 'The model store has no upstream' },
  UPSTREAM_DISABLED: { code: 8002, status: 409, message: 'The upstream is disabled' },
  UPSTREAM_UNREACHABLE: { code: 8003, status: 503, message: 'The upstream cannot be reached now' },
  UPSTREAM_REFUSED: { code: 8004, status: 502, message: 'The upstream refused the model' },
  NO_AGGREGATED_MODEL: { code: 8005, status: 404, message: 'The upstream has no aggregated model' },
  UNKNOWN_UPSTREAM: { code: 8006, status: 404, message: 'No upstream has this id' },
  UNKNOWN_TRANSFER: { code: 8007, status: 404, message: 'No transfer has this id' },
  BAD_ENDPOINT: { code: 8008, status: 400, message: 'The upstream endpoint cannot be used' },

  UNKNOWN_FEED: { code: 8009, status: 404, message: 'No feed has this id' },
  FEED_EXISTS: { code: 8010, status: 409, message: 'The table has a feed to this upstream' },
  UPSTREAM_EXISTS: { code: 8011, status: 409, message: 'An upstream with this name already exists' },
  UPSTREAM_IN_USE: { code: 8012, status: 409, message: 'Feeds go to this upstream' },
  TABLE_DIFFERS: { code: 8013, status: 409, message: 'The table has other columns at the other node' },
  CURSOR_MISMATCH: { code: 8014, status: 409, message: 'The batch does not begin at the cursor' },
  STALE_EPOCH: { code: 8015, status: 409, message: 'A restored copy of this node has sent already' },
  BAD_BATCH: { code: 8016, status: 400, message: 'The batch cannot be read' },
  NOT_IN_THIS_VERSION: { code: 8017, status: 501, message: 'This version does not offer it' },
  FEED_BEHIND: { code: 8019, status: 409, message: 'The other node lacks rows that were not sent yet' },
  TABLE_NOT_SENDABLE: { code: 8018, status: 422, message: 'The table has columns that feeds do not carry' },

  UNKNOWN_MODEL: { code: 9001, status: 404, message: 'No model has this id' },
  UNKNOWN_STORE: { code: 9002, status: 404, message: 'No model store has this name' },
  STORE_EXISTS: { code: 9003, status: 409, message: 'A model store with this name already exists' },
  STORE_IN_USE: { code: 9004, status: 409, message: 'Models of the store have not been sent upstream yet' },
  BAD_UPLOAD: { code: 9005, status: 400, message: 'The upload cannot be read' },
  LOOP: { code: 9006, status: 422, message: 'The model has already passed through this node' },
  MODEL_DAMAGED: { code: 9007, status: 500, message: 'The bytes of the model are damaged on disk' },
  DIGEST_MISMATCH: { code: 9008, status: 422, message: 'The bytes do not have the announced digest' },
  TOO_MANY_UPLOADS: { code: 9009, status: 429, message: 'The key has too many unfinished uploads' },
  BAD_DELTA: { code: 9011, status: 422, message: 'The delta cannot be applied' },
  SIGNATURE_REFUSED: { code: 9010, status: 422, message: 'The model lacks a valid signature' },

  UNKNOWN_PROFILE: { code: 11001, status: 404, message: 'No profile has this name' },
  PROFILE_CHANGED: { code: 11002, status: 409, message: 'The profile has a newer version' },
  UNKNOWN_TOKEN: { code: 11003, status: 404, message: 'No token has this id' },
  TOKEN_USED_UP: { code: 11004, status: 409, message: 'The token has no use left' },
  UNKNOWN_GATEWAY: { code: 11005, status: 404, message: 'No gateway of the fleet has this id' },
  GATEWAY_KNOWN: { code: 11006, status: 409, message: 'The gateway joined with other public keys' },
  GATEWAY_REVOKED: { code: 11007, status: 403, message: 'The gateway was revoked' },
  GATEWAY_IN_USE: { code: 11008, status: 409, message: 'The gateway is a member of the fleet' },
  BAD_SIGNATURE: { code: 11009, status: 422, message: 'The signature does not fit' },
  UNKNOWN_DIGEST: { code: 11010, status: 404, message: 'The hub has no file with this digest' },
  FILE_DAMAGED: { code: 11011, status: 500, message: 'The bytes of the file are damaged on disk' },
  ALREADY_JOINED: { code: 11012, status: 409, message: 'This gateway is a member of another hub' },
  NOT_JOINED: { code: 11013, status: 409, message: 'This gateway is no member of a fleet' },
  NOT_ON_HUB: { code: 11014, status: 501, message: 'A hub does not offer it' },
} as const satisfies Record<string, { code: number; status: number; message: string }>

export type ErrorName = keyof typeof ERRORS

/**
 * An error that is answered to the caller.
 *
 * @property data is sent as `error.data`, beside `name` and `requestId`; it must hold nothing internal
 * @property cause is logged and never sent
 */
export class AppError extends Error {
  readonly errorName: ErrorName
  readonly data: Readonly<Record<string, unknown>>

  constructor(
    errorName: ErrorName,
    data: Record<string, unknown> = {},
    options: { message?: string; cause?: unknown } = {},
  ) {
    super(options.message ?? ERRORS[errorName].message, { cause: options.cause })
    this.name = 'AppError'
    this.errorName = errorName
    this.data = data
  }
}

/** True for an `AppError`, also one of another copy of this module in a bundle. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && error.name === 'AppError' && 'errorName' in error
}

/** Kind of a fault of the disk: pages that are no database pages, rows that changed, reads and writes that fail. */
export type DiskFaultKind = 'damaged' | 'changed' | 'failing'

/** Causes of an error that are looked at. */
const MAX_CAUSES = 5

/**
 * Kind of the fault of the disk that an error, or one of its causes, reports; undefined for other errors.
 * Recognised by code: of the operating system, of SQLite, and of rows that do not have their digest.
 */
export function diskFaultKind(error: unknown): DiskFaultKind | undefined {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++, cause = cause.cause) {
    const code = 'code' in cause ? String(cause.code) : ''
    if (code === 'DIGEST_MISMATCH') return 'changed'
    if (/^(?:SQLITE_CORRUPT|SQLITE_NOTADB)/.test(code)) return 'damaged'
    if (/^(?:EIO|EROFS|SQLITE_(?:IOERR|READONLY|CANTOPEN).*)$/.test(code)) return 'failing'
  }
  return undefined
}

/** True where stored bytes are not those that were written. */
export function isDamage(error: unknown): boolean {
  const kind = diskFaultKind(error)
  return kind === 'damaged' || kind === 'changed'
}

/** Returns the error that a caller receives: INTERNAL for what callers must not see. */
export function toAppError(error: unknown): AppError {
  if (isAppError(error)) return error
  const kind = diskFaultKind(error)
  if (kind === undefined) return new AppError('INTERNAL', {}, { cause: error })
  return new AppError(kind === 'failing' ? 'STORAGE_FAILED' : 'STORAGE_DAMAGED', {}, { cause: error })
}

/** A value of the params that does not fit. */
export interface Fault {
  /** JSON path of the value, `$` for the params themselves: `$.record_set[3].speed` */
  readonly path: string
  /** found and expected value */
  readonly message: string
}

/** Most faults in one error. */
const MAX_FAULTS = 100

/**
 * Makes the error of params that do not fit. Its data holds the first 100 faults; its message quotes the
 * first and counts the others.
 *
 * @param faults at least one
 */
export function invalidParams(faults: readonly Fault[]): AppError {
  const [first] = faults
  if (first === undefined) throw new Error('invalidParams needs at least one fault')
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return new AppError(
    'INVALID_PARAMS',
    { faults: faults.slice(0, MAX_FAULTS) },
    { message: `Invalid params: ${first.path}: ${first.message}${more}` },
  )
}

/** Wait after a full disk, s: space is freed by people, so an early retry only costs the device work. */
const DISK_RETRY_S = 60

/** Returns the seconds after which a call may be repeated; undefined where waiting does not help. */
export function retryAfterS({ errorName, data }: AppError): number | undefined {
  if (typeof data.retryAfterS === 'number') return Math.ceil(data.retryAfterS)
  if (errorName === 'DISK_FULL') return DISK_RETRY_S
  return ERRORS[errorName].status === 503 ? 1 : undefined
}

/** Returns the message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
