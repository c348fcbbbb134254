import type { Config } from '../config/config.js'
import type { Api } from '../rpc/dispatch.js'
import { methodsOf } from './apis.js'

/** Makes the OpenAPI document of a gateway: its methods and its other routes. */
export async function describeHttp<C>(
  { service }: Config,
  apis: readonly Api<C>[],
  version: string,
): Promise<object> {
  const { openApiDocument } = await import('../http/openapi/document.js')
  const { schemaOf } = await import('../rpc/openapi.js')
  const { CountersResult } = await import('../api/dataloader/schema.js')
  const { ModelInfo } = await import('../api/model-store/schema.js')
  return openApiDocument({
    version,
    headerPrefix: service.headerPrefix,
    apis: await Promise.all(apis.map(async (api) => ({ title: api.title, methods: await methodsOf(api) }))),
    schemas: { ModelInfo: schemaOf(ModelInfo, 'output'), Counters: schemaOf(CountersResult, 'output') },
  })
}
