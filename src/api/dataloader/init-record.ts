import { invalidParams } from '../../errors.js'
import { defineMethod } from '../../rpc/define-method.js'
import { streamed } from '../../rpc/result.js'
import { collectionText } from '../feature-collection.js'
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
  async handle(
    { data_name, record_set_size },
    { loader, config }: Pick<DataLoaderContext, 'loader' | 'config'>,
  ) {
    const { initRecords } = config.limits
    if (record_set_size > initRecords) {
      const message = `found ${record_set_size}, expected 0 to ${initRecords} (limits.initRecords)`
      throw invalidParams([{ path: '$.record_set_size', message }])
    }
    const { columns } = await loader.find(data_name)
    const names = columns.map(({ name }) => name).filter((name) => name !== 'location')
    const properties = names.map((name) => `${JSON.stringify(name)}:null`).join(',')
    const feature = `{"type":"Feature","geometry":null,"properties":{${properties}}}`
    return streamed(collectionText(undefined, repeated(feature, record_set_size)))
  },
})

/** Repeats a text in batches: ten thousand features of a wide table are too much text to hold at once. */
async function* repeated(feature: string, count: number): AsyncGenerator<string[]> {
  for (let at = 0; at < count; at += CHUNK) {
    yield Array.from({ length: Math.min(CHUNK, count - at) }, () => feature)
  }
}
