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
}
