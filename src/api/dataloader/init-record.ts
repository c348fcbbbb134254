import { AppError } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import type { DataLoaderContext } from './context.js'
import { FeatureCollectionResult, InitRecordParams } from './schema.js'

/** Features that are sent at a time. */
const CHUNK = 100

export const initRecord = defineMethod({
  name: 'loaderwebapi.init_record',
  summary: 'Empty records of a table, to be filled in and added',
  scope: 'loader:read',
  errors: ['UNKNOWN_TABLE'],
  params: InitRecordParams,
  result: FeatureCollectionResult,
  handle({ data_name, record_set_size }, { loader, config }: Pick<DataLoaderContext, 'loader' | 'config'>) {
    const { initRecords } = config.limits
    if (record_set_size > initRecords) throw tooMany(record_set_size, initRecords)
    const names = loader
      .find(data_name)
      .columns.map(({ name }) => name)
      .filter((name) => name !== 'location')
    const properties = names.map((name) => `${JSON.stringify(name)}:null`).join(',')
    return streamed(
      repeat(`{"type":"Feature","geometry":null,"properties":{${properties}}}`, record_set_size),
    )
  },
})

/** Ten thousand features of a wide table are too much text to be held at once. */
async function* repeat(feature: string, count: number): AsyncGenerator<string> {
  yield '{"type":"FeatureCollection","features":['
  for (let at = 0; at < count; at += CHUNK) {
    const text = Array.from({ length: Math.min(CHUNK, count - at) }, () => feature).join(',')
    yield at === 0 ? text : `,${text}`
  }
  yield ']}'
}

function tooMany(found: number, limit: number): AppError {
  const message = `found ${found}, expected 0 to ${limit} (limits.initRecords)`
  const faults = [{ path: '$.record_set_size', message }]
  return new AppError(
    'INVALID_PARAMS',
    { faults },
    { message: `Invalid params: $.record_set_size: ${message}` },
  )
}
