import type { TableReader } from '../../storage/tables.js'
import type { CallContext, SharedContext } from '../context.js'

/** What the room of event data and risk maps needs of the context. */
export type MapContext = Pick<CallContext, 'signal'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & { readonly tables: Pick<TableReader, 'find' | 'pages'> }
