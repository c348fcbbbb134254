import type { TableReader } from '../../storage/tables.js'
import type { CallContext, SharedContext } from '../context.js'

/** Part of the context that the methods of event data and risk maps use. */
export type MapContext = Pick<CallContext, 'signal'> &
  Pick<SharedContext, 'config' | 'timeZoneMin'> & { readonly tables: Pick<TableReader, 'find' | 'pages'> }
