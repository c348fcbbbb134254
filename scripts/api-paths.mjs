// Paths of the APIs that scripts call.
export const SESSION = '/api/v1/session/jsonrpc'
export const LOADER = '/api/v1/dataloaderapi/jsonrpc'
export const MAPS = '/api/v1/svcapi/jsonrpc'
export const DATASET = '/api/v2/dataset/jsonrpc'
export const FL = '/api/v2/fl/jsonrpc'
export const SYNC = '/api/v2/sync/jsonrpc'
export const MODELS = '/api/v2/model_store/jsonrpc'
export const FLEET = '/api/v2/fleet/jsonrpc'
