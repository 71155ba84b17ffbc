-- Why the last attempt did not succeed, as a code: messages to people make plain words of it.
ALTER TABLE deliveries ADD COLUMN last_reason TEXT;
-- Why a fallback was called upon, in words that follow "because".
ALTER TABLE deliveries ADD COLUMN instead_because TEXT;
