import type { PathItem } from '../../rpc/openapi.js'
import {
  answers,
  bodyOf,
  contentOf,
  headerParameter,
  NOTHING,
  operation,
  pathParameter,
  queryParameter,
  REFUSED,
} from './parts.js'

/** Rows that other nodes send and ask for. */
const BATCHES: PathItem = {
  post: {
    ...operation('Feeds of tables', 'sendBatch', 'Takes rows that another gateway sends'),
    parameters: [pathParameter('table')],
    requestBody: bodyOf('application/x-ndjson'),
    responses: answers('Cursor after the batch', 'application/json'),
  },
  get: {
    ...operation('Feeds of tables', 'askForBatch', 'Gives rows that another gateway asks for'),
    parameters: [
      pathParameter('table'),
      ...['feed', 'epoch', 'after', 'wait', 'from_day', 'to_day', 'after_row'].map((name) =>
        queryParameter(name, { type: 'string' }),
      ),
    ],
    responses: {
      ...answers('The batch after a change', 'application/x-ndjson'),
      204: { description: 'No row came until the end of the wait' },
    },
  },
}

const CHANGES: PathItem = {
  get: {
    ...operation('Data loader', 'changes', 'Gives changes of a table as they happen, as server-sent events'),
    parameters: [
      pathParameter('data_name'),
      ...['after', 'columns', 'conds'].map((name) => queryParameter(name, { type: 'string' })),
    ],
    responses: answers('Events change (a Feature) and end (where to go on)', 'text/event-stream'),
  },
}

/** Rows as a file. @param part of the path that names them */
function exportOf(part: string, tag: string, id: string): PathItem {
  return {
    get: {
      ...operation(tag, id, 'Rows of a loader table, a dataset or a citation as a file'),
      parameters: [
        pathParameter(part),
        queryParameter('format', { type: 'string', enum: ['csv', 'geojson', 'gpkg'], default: 'csv' }),
        queryParameter('conds', { type: 'string' }),
        queryParameter('order', { type: 'string' }),
      ],
      responses: answers('The file', 'text/csv'),
    },
  }
}

/** Bodies that are no JSON-RPC: streams, uploads, downloads. */
export function dataPaths(): Record<string, PathItem> {
  return {
    '/api/v1/dataloaderapi/stream/{data_name}': {
      post: {
        ...operation('Data loader', 'stream', 'Adds newline-delimited features of any number to a table'),
        parameters: [
          pathParameter('data_name'),
          queryParameter('if_exists', {
            type: 'string',
            enum: ['override', 'skip', 'error'],
            default: 'skip',
          }),
        ],
        requestBody: bodyOf('application/x-ndjson', 'application/geo+json-seq', 'application/gzip'),
        responses: answers('Counters', 'application/json', { $ref: '#/components/schemas/Counters' }),
      },
    },
    '/api/v1/dataloaderapi/changes/{data_name}': CHANGES,
    '/api/v1/dataloaderapi/export/{data_name}': exportOf('data_name', 'Data loader', 'exportTable'),
    '/api/v2/dataset/export/{label}': exportOf('label', 'Datasets and citations', 'exportRows'),
    '/api/v2/sync/tables/{table}/batches': BATCHES,
    '/api/v2/sync/citations/{checksum}/rows': {
      post: {
        ...operation(
          'Feeds of tables',
          'sendCitation',
          'Takes rows of a citation that another gateway sends',
        ),
        parameters: [pathParameter('checksum')],
        requestBody: bodyOf('application/x-ndjson'),
        responses: answers('Rows that are here', 'application/json'),
      },
    },
    '/api/v2/model_store/jsonrpc/upload/{method}': {
      post: {
        ...operation(
          'Model store',
          'uploadModel',
          'Puts a model: part data holds the params, part file the bytes',
        ),
        parameters: [
          pathParameter('method', {
            type: 'string',
            enum: ['put', 'put_aggregated', 'put_feedback'].map((name) => `model_store.model.${name}`),
          }),
        ],
        requestBody: { required: true, content: { 'multipart/form-data': { schema: UPLOAD_FORM } } },
        responses: answers('The model', 'application/json', { $ref: '#/components/schemas/ModelInfo' }),
      },
    },
    '/api/v2/model_store/models/{model_id}/file': {
      get: {
        ...operation('Model store', 'downloadModel', 'Bytes of a model, whole or a range of them'),
        ...modelDownload(),
      },
    },
    '/api/v2/fleet/files/{sha256}': {
      get: {
        ...operation('Fleet', 'downloadFleetFile', 'File that the profile of the gateway names'),
        ...download('sha256'),
      },
    },
    '/api/v2/model_store/models/{model_id}/signature': {
      get: {
        ...operation('Model store', 'downloadSignature', 'Signature bundle of a model, as it was supplied'),
        parameters: [pathParameter('model_id')],
        responses: answers('The bundle', 'application/vnd.dev.sigstore.bundle.v0.3+json'),
      },
    },
    ...resumablePaths(),
  }
}

/** Returns those of a model, which a hub on engines may redirect. */
function modelDownload() {
  const { parameters, responses } = download('model_id')
  return {
    parameters: [...parameters, queryParameter('redirect', { type: 'string', enum: ['yes', 'no'] })],
    responses: {
      ...responses,
      307: { description: 'A link to the bytes, for five minutes: of a hub that has them in a store' },
    },
  }
}

/** Returns the parameters and the answers of a download. */
function download(name: string) {
  return {
    parameters: [
      pathParameter(name),
      headerParameter('Range', false),
      headerParameter('If-None-Match', false),
    ],
    responses: {
      ...answers('The bytes', 'application/octet-stream'),
      206: { description: 'A range of the bytes', ...contentOf('application/octet-stream') },
      304: { description: 'The caller has these bytes' },
      416: { description: 'The file has no such range' },
    },
  }
}

const UPLOAD_FORM = {
  type: 'object',
  required: ['data', 'file'],
  properties: {
    data: { type: 'string', description: 'JSON text' },
    file: { type: 'string', format: 'binary' },
    signature: { type: 'string', description: 'signature bundle of OpenSSF model signing' },
  },
}

/** Resumable uploads, tus 1.0.0. */
function resumablePaths(): Record<string, PathItem> {
  const uploads = '/api/v2/model_store/uploads'
  const upload = [pathParameter('upload_id'), headerParameter('Tus-Resumable')]
  return {
    [uploads]: {
      options: {
        ...operation('Model store', 'uploadOptions', 'What the resumable uploads (tus 1.0.0) can do'),
        responses: NOTHING,
      },
      post: {
        ...operation(
          'Model store',
          'createUpload',
          'Begins a resumable upload; Upload-Metadata: method, data, sha256',
        ),
        parameters: [
          headerParameter('Tus-Resumable'),
          headerParameter('Upload-Length'),
          headerParameter('Upload-Metadata'),
        ],
        responses: { 201: { description: 'Begun; Location names it' }, default: REFUSED },
      },
    },
    [`${uploads}/{upload_id}`]: {
      head: {
        ...operation('Model store', 'findUpload', 'How far an upload has come'),
        parameters: upload,
        responses: NOTHING,
      },
      patch: {
        ...operation(
          'Model store',
          'resumeUpload',
          'Goes on with an upload; the last bytes bring the model_info',
        ),
        parameters: [...upload, headerParameter('Upload-Offset')],
        requestBody: bodyOf('application/offset+octet-stream'),
        responses: {
          ...answers('The model', 'application/json', { $ref: '#/components/schemas/ModelInfo' }),
          204: { description: 'These bytes are on disk' },
        },
      },
      delete: {
        ...operation('Model store', 'cancelUpload', 'Gives an upload up'),
        parameters: upload,
        responses: NOTHING,
      },
    },
  }
}
