import { LOADER } from '../api-paths.mjs'

export { DATASET, LOADER, MAPS, SESSION, SYNC } from '../api-paths.mjs'

/** A GeoJSON Feature, the params of `mapserv.*`. */
export const feature = (geometry, properties) => ({ type: 'Feature', geometry, properties })

/** A record of a loader table. */
export const record = (geometry, properties) =>
  feature(geometry, {
    start_datetime: '2026-01-01 00:00:00Z',
    end_datetime: '2026-01-01 01:00:00Z',
    ...properties,
  })

/** Registers a loader table unless an earlier attack has. @param columns name → udt_name */
export async function makeTable(admin, data_name, columns) {
  const record_def = Object.fromEntries(
    Object.entries(columns).map(([name, udt_name]) => [name, { udt_name }]),
  )
  const { data } = await admin(LOADER, 'loaderwebapi.get_loader_list', {})
  if (data.some((each) => each.data_name === data_name)) return false
  await admin(LOADER, 'loaderwebapi.register_loader', { data_name, record_def, unique_columns: ['id'] })
  return true
}

/**
 * Adds records in calls of `perCall`, or of fewer where a body would be too large.
 *
 * @param make (i) → record
 */
export async function addRows(admin, data_name, count, perCall, make) {
  let most = perCall
  for (let i = 0; i < count; ) {
    const record_set = Array.from({ length: Math.min(most, count - i) }, (_, k) => make(i + k))
    try {
      await admin(LOADER, 'loaderwebapi.add_record', { data_name, record_set })
      i += record_set.length
    } catch (error) {
      if (!isTooLarge(error) || most === 1) throw error
      most = Math.ceil(most / 2)
    }
  }
}

/** True for the error of a call whose body had more bytes than are taken: a hub takes none of more than 4 MiB. */
export function isTooLarge(error) {
  return error.message.includes('BODY_TOO_LARGE')
}

/** A ring of `count` vertices that zigzags between two latitudes. */
export function zigzag(count, [west, south], [east, north]) {
  const half = count >> 1
  const up = Array.from({ length: half }, (_, i) => [
    west + ((east - west) * i) / half,
    i % 2 ? north : (south + north) / 2,
  ])
  const back = Array.from({ length: half }, (_, i) => [
    east - ((east - west) * i) / half,
    i % 2 ? south : south + (north - south) / 3,
  ])
  const ring = [...up, ...back]
  return { type: 'Polygon', coordinates: [[...ring, ring[0]]] }
}
