import type { BadCalls } from './types.js'

export const SESSION_BAD_CALLS: BadCalls = {
  'session.open_session': [
    [{ expires_in: 0 }, 'INVALID_PARAMS', /\$\.expires_in/],
    [{ expires_in: -1 }, 'INVALID_PARAMS', /\$\.expires_in/],
    [{ expires_in: 1.5 }, 'INVALID_PARAMS', /\$\.expires_in/],
    [{ expires_in: '60' }, 'INVALID_PARAMS', /\$\.expires_in/],
    [{ expires_in: 1e300 }, 'INVALID_PARAMS', /\$\.expires_in/],
    [{ expires_in: 315_360_000 }, 'INVALID_PARAMS', /\$\.expires_in/],
  ],
  'session.verify_session_token': [
    [{}, 'INVALID_PARAMS', /\$\.token/],
    [{ token: 7 }, 'INVALID_PARAMS', /\$\.token/],
    [{ token: null }, 'INVALID_PARAMS', /\$\.token/],
    [{ token: 'x'.repeat(5000) }, 'INVALID_PARAMS', /\$\.token/],
  ],
  'session.close_session': [
    [{}, 'INVALID_PARAMS', /\$\.token/],
    [{ token: ['x'] }, 'INVALID_PARAMS', /\$\.token/],
    [{ token: 'x'.repeat(5000) }, 'INVALID_PARAMS', /\$\.token/],
  ],
  'session.list_sessions': [
    [{ limit: 0 }, 'INVALID_PARAMS', /\$\.limit/],
    [{ limit: 1001 }, 'INVALID_PARAMS', /\$\.limit/],
    [{ offset: -1 }, 'INVALID_PARAMS', /\$\.offset/],
    [{ key: 'x' }, 'INVALID_PARAMS', /key/],
  ],
  'session.end_session': [
    [{}, 'INVALID_PARAMS', /\$\.session_id/],
    [{ session_id: 'x' }, 'INVALID_PARAMS', /\$\.session_id/],
    [{ session_id: null }, 'INVALID_PARAMS', /\$\.session_id/],
    [{ token: 'x' }, 'INVALID_PARAMS', /\$\.session_id/],
  ],
}
