/**
 * Every error a caller can meet: symbolic name → JSON-RPC code, the HTTP status of the REST form and of
 * refusals before dispatch, and what it means. Codes from -32768 to -32000 are JSON-RPC's own; ours start at
 * 1000 with a block of 1000 per room. docs/errors.md prints this table.
 */
export const ERRORS = {
  PARSE_ERROR: { code: -32700, status: 400, message: 'The body is not valid JSON' },
  INVALID_REQUEST: { code: -32600, status: 400, message: 'The body is not a JSON-RPC 2.0 request' },
  METHOD_NOT_FOUND: { code: -32601, status: 404, message: 'No such method at this path' },
  INVALID_PARAMS: { code: -32602, status: 400, message: 'Parameters do not fit the method' },
  INTERNAL: { code: -32603, status: 500, message: 'The gateway failed; its log tells more' },

  UNAUTHENTICATED: { code: 1001, status: 401, message: 'Credentials are missing or wrong' },
  FORBIDDEN: { code: 1002, status: 403, message: 'The key lacks the scope that this method needs' },
  NOT_FOUND: { code: 1003, status: 404, message: 'Nothing is served at this path' },
  METHOD_NOT_ALLOWED: { code: 1004, status: 405, message: 'This path does not answer that HTTP method' },
  BODY_TIMEOUT: { code: 1005, status: 408, message: 'The request body stalled' },
  BODY_TOO_LARGE: { code: 1006, status: 413, message: 'The request body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { code: 1007, status: 415, message: 'The content type is not one this path reads' },
  HEADERS_TOO_LARGE: { code: 1008, status: 431, message: 'The request headers are too large' },
  RATE_LIMITED: { code: 1009, status: 429, message: 'Too many calls' },
  UNAVAILABLE: { code: 1010, status: 503, message: 'The gateway is starting or stopping' },
  DISK_FULL: { code: 1011, status: 503, message: 'The device is out of disk space; reads go on' },
  ALERT_UNAVAILABLE: { code: 1012, status: 501, message: 'The edge variant has no alert API' },
  BAD_HTTP: { code: 1013, status: 400, message: 'The HTTP request cannot be read' },
  BAD_CONDITION: { code: 1014, status: 400, message: 'The condition cannot be used' },
  BUSY: { code: 1015, status: 503, message: 'The queue for this kind of work is full' },
  CANCELLED: { code: 1016, status: 499, message: 'The caller went away or the gateway is stopping' },
  TIME_LIMIT: { code: 1017, status: 503, message: 'The work took longer than its limit' },
  NOT_ACCEPTABLE: { code: 1030, status: 406, message: 'The path has no form that the Accept header allows' },

  UNKNOWN_MODULE: { code: 3001, status: 404, message: 'No module has this name' },
  UNKNOWN_SCRIPT: { code: 3002, status: 404, message: 'The module has no method of this name' },
  BAD_MODULE: { code: 3003, status: 500, message: 'The definition of the module cannot be used' },
  MODULE_FAILED: { code: 3004, status: 422, message: 'The module ended with a failure' },
  MODULE_LIMIT: { code: 3005, status: 422, message: 'The module was ended because it crossed a limit' },
  BAD_OUTPUT: { code: 3006, status: 422, message: 'What the module put out cannot be used' },
  BACKEND_UNREACHABLE: { code: 3007, status: 503, message: 'The dataproc backend cannot be reached' },
  BACKEND_TIMEOUT: { code: 3008, status: 504, message: 'The dataproc backend did not answer in time' },
  BAD_BACKEND_ANSWER: {
    code: 3009,
    status: 502,
    message: 'The answer of the dataproc backend cannot be used',
  },

  ALREADY_REGISTERED: { code: 4001, status: 409, message: 'A table of this name is registered already' },
  UNKNOWN_TABLE: { code: 4002, status: 404, message: 'No table has this name' },
  BAD_RECORD: {
    code: 4003,
    status: 400,
    message: 'A record does not fit the table',
  },
  RECORD_EXISTS: { code: 4004, status: 409, message: 'A record of this key is there already' },
  UNKNOWN_FILE: { code: 4005, status: 404, message: 'No file is stored at this place' },
  TABLE_CITED: { code: 4006, status: 409, message: 'A citation names the table' },

  BAD_MAP_FILE: { code: 5001, status: 500, message: 'The map file cannot be used' },
  BAD_EXTRACT: { code: 5002, status: 400, message: 'The OpenStreetMap extract cannot be used' },
  TOO_MANY_CELLS: { code: 5003, status: 400, message: 'The area holds too many mesh cells of this degree' },
  OUTSIDE_MAP: {
    code: 6001,
    status: 422,
    message: 'A point lies outside the map, or too far from its roads',
  },
  NO_ROUTE: { code: 6002, status: 422, message: 'No way leads from one point to the next' },
  UNKNOWN_MAP: { code: 6003, status: 404, message: 'No such map is served' },
  UNKNOWN_THEME: { code: 6004, status: 404, message: 'No such risk map theme' },
  BAD_SENSITIVITY: {
    code: 6005,
    status: 400,
    message: 'Sensitivities are 11 finite numbers, each 0 or more',
  },
  TOO_MANY_VIA: { code: 6006, status: 400, message: 'Too many via points' },
  TOO_MANY_ITEMS: { code: 6007, status: 400, message: 'A list of the request is longer than the limit' },
  SEARCH_TOO_LARGE: { code: 6008, status: 503, message: 'The search would settle more nodes than the limit' },
  UNKNOWN_DATASET: { code: 7001, status: 404, message: 'No dataset has this name' },
  ALREADY_EXISTS: { code: 7002, status: 409, message: 'A dataset of this name exists' },
  UNKNOWN_CITATION: { code: 7003, status: 404, message: 'No citation has this name' },

  NO_UPSTREAM: { code: 8001, status: 404, message: 'The model store has no upstream information' },
  UPSTREAM_DISABLED: { code: 8002, status: 409, message: 'The upstream is switched off' },
  UPSTREAM_UNREACHABLE: { code: 8003, status: 503, message: 'The upstream cannot be reached now' },
  UPSTREAM_REFUSED: { code: 8004, status: 502, message: 'The upstream refused the model' },
  NO_AGGREGATED_MODEL: { code: 8005, status: 404, message: 'The upstream has no aggregated model' },
  UNKNOWN_UPSTREAM: { code: 8006, status: 404, message: 'No upstream information has this id' },
  UNKNOWN_TRANSFER: { code: 8007, status: 404, message: 'No transfer has this id' },
  BAD_ENDPOINT: { code: 8008, status: 400, message: 'The upstream endpoint cannot be used' },

  UNKNOWN_MODEL: { code: 9001, status: 404, message: 'No such model' },
  UNKNOWN_STORE: { code: 9002, status: 404, message: 'No such model store' },
  STORE_EXISTS: { code: 9003, status: 409, message: 'A model store of this name exists' },
  STORE_IN_USE: { code: 9004, status: 409, message: 'Models of the store are not yet upstream' },
  BAD_UPLOAD: { code: 9005, status: 400, message: 'The upload cannot be read' },
  LOOP: { code: 9006, status: 422, message: 'The model came from this node already' },
  MODEL_DAMAGED: { code: 9007, status: 500, message: 'The bytes of the model were damaged on disk' },
  DIGEST_MISMATCH: { code: 9008, status: 422, message: 'The bytes are not those that were announced' },
  TOO_MANY_UPLOADS: { code: 9009, status: 429, message: 'Too many unfinished uploads of this key' },
} as const satisfies Record<string, { code: number; status: number; message: string }>

export type ErrorName = keyof typeof ERRORS

/**
 * A fault that the caller is told about.
 *
 * @property data goes to the caller as `error.data`, beside `name` and `requestId`: nothing internal in it
 * @property cause goes to the log only
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

/** True for an `AppError`, also one that crossed a module boundary of a bundle. */
export function isAppError(error: unknown): error is AppError {
  return error instanceof Error && error.name === 'AppError' && 'errorName' in error
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
 * Makes the error of params that do not fit. Its data holds the first 100 faults; its message quotes the first
 * and counts the others.
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

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
