import { CountersResult } from '../api/dataloader/schema.js'
import { ModelInfo } from '../api/model-store/schema.js'
import type { Config } from '../config/config.js'
import { openApiDocument } from '../http/openapi/document.js'
import type { Api } from '../rpc/dispatch.js'
import { schemaOf } from '../rpc/openapi.js'
import { methodsOf } from './apis.js'

/** Makes the OpenAPI document of a gateway: its methods and its other routes. */
export function describeHttp<C>({ service }: Config, apis: readonly Api<C>[], version: string): object {
  return openApiDocument({
    version,
    headerPrefix: service.headerPrefix,
    apis: apis.map((api) => ({ title: api.title, methods: methodsOf(api) })),
    schemas: { ModelInfo: schemaOf(ModelInfo, 'output'), Counters: schemaOf(CountersResult, 'output') },
  })
}
