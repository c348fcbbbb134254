export type Language = 'en' | 'ja'
export type Theme = 'system' | 'light' | 'dark'

/** Kept in the browser: nothing but how the page looks. */
const KEY = 'fieldgate-console'

interface Settings {
  language: Language
  theme: Theme
}

let settings: Settings = { language: navigator.language.startsWith('ja') ? 'ja' : 'en', theme: 'system' }
const listeners = new Set<() => void>()
const prefersDark = matchMedia('(prefers-color-scheme: dark)')

export function loadSettings(): void {
  try {
    settings = { ...settings, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>) }
  } catch {
    localStorage.removeItem(KEY)
  }
  apply()
  prefersDark.addEventListener('change', () => {
    apply()
    for (const act of listeners) act()
  })
}

export function currentSettings(): Readonly<Settings> {
  return settings
}

export function changeSettings(change: Partial<Settings>): void {
  settings = { ...settings, ...change }
  localStorage.setItem(KEY, JSON.stringify(settings))
  apply()
  for (const act of listeners) act()
}

/** @returns stops listening */
export function onSettings(act: () => void): () => void {
  listeners.add(act)
  return () => void listeners.delete(act)
}

export function isDark(): boolean {
  return settings.theme === 'dark' || (settings.theme === 'system' && prefersDark.matches)
}

function apply(): void {
  document.documentElement.lang = settings.language
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
}
