/** What keeps secrets out of texts. Loads nothing. */
export { withoutSecrets } from '../without-secrets.js';
