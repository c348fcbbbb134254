// The generated pages of docs/: methods, errors, messages, settings, verbs.
import { errorsPage } from './errors-page.mjs'
import { messagesPage } from './messages-page.mjs'
import { methodsPage } from './methods-page.mjs'
import { settingsPage } from './settings-page.mjs'
import { verbsPage } from './verbs-page.mjs'

/** Path of each page → its text. */
export function pagesOf(facts) {
  return {
    'docs/methods.md': methodsPage(facts),
    'docs/errors.md': errorsPage(facts),
    'docs/messages.md': messagesPage(),
    'docs/settings.md': settingsPage(facts),
    'docs/verbs.md': verbsPage(facts),
  }
}
