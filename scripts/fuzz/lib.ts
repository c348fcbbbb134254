/** Functions that the fuzz calls without a gateway. */
import { readFileSync } from 'node:fs'
import { crc32 as zlibCrc32 } from 'node:zlib'

export { loadConfig } from '../../src/config/config.js'
export { formatDatetime, parseDatetime } from '../../src/datetime.js'
export { isFault } from '../../src/geo/fault.js'
export { parseGeometry } from '../../src/geo/parse-geometry.js'
export { decodeHexWkb, encodeHexWkb } from '../../src/geo/wkb.js'
export { decodeWkt, encodeWkt } from '../../src/geo/wkt.js'
export { readParts } from '../../src/http/model-files/upload-parts.js'
export { verifyMap } from '../../src/routing/cch/map-hierarchy.js'
export { readGraph } from '../../src/routing/graph/graph-file.js'
export { readJson } from '../../src/rpc/read-json.js'

export const sampleConfig = readFileSync('edge.config.json', 'utf8')
export const crc32 = (bytes: Uint8Array) => zlibCrc32(bytes)
