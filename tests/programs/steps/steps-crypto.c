/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenSSL code written in assembly, with CFI by hand. Its functions are declared here, so that its
 * headers need not be installed.
 */
#include <stddef.h>

#define HASH(name)                                                                                 \
	int name##_Init(void *context);                                                            \
	int name##_Update(void *context, const void *data, size_t size);                           \
	int name##_Final(unsigned char *digest, void *context);                                    \
                                                                                                   \
	static void hash_##name(void)                                                              \
	{                                                                                          \
		name##_Init(context);                                                              \
		name##_Update(context, text, sizeof(text));                                        \
		name##_Final(out, context);                                                        \
	}

static unsigned char text[300], out[600], context[8192] __attribute__((aligned(64)));

HASH(SHA1)
HASH(SHA256)
HASH(SHA512)
HASH(MD5)

int AES_set_encrypt_key(const unsigned char *bytes, int bits, void *key);
int AES_set_decrypt_key(const unsigned char *bytes, int bits, void *key);
void AES_encrypt(const unsigned char *in, unsigned char *out, const void *key);
void AES_decrypt(const unsigned char *in, unsigned char *out, const void *key);
void AES_cbc_encrypt(const unsigned char *in, unsigned char *out, size_t size, const void *key,
		     unsigned char *vector, int encrypt);
void RC4_set_key(void *key, int size, const unsigned char *bytes);
void RC4(void *key, size_t size, const unsigned char *in, unsigned char *out);
void *BN_new(void);
int BN_set_word(void *number, unsigned long word);
int BN_set_bit(void *number, int bit);
void *BN_CTX_new(void);
int BN_mod_exp_mont_consttime(void *result, const void *a, const void *e, const void *m,
			      void *context, void *more);
int BN_mul(void *result, const void *a, const void *b, void *context);
int BN_sqr(void *result, const void *a, void *context);

static void encrypt(void)
{
	unsigned char vector[16] = { 1 };

	AES_set_encrypt_key(text, 128, context);
	AES_encrypt(text, out, context);
	AES_cbc_encrypt(text, out, 64, context, vector, 1);
	AES_set_decrypt_key(text, 256, context);
	AES_decrypt(text, out, context);
	AES_cbc_encrypt(text, out, 64, context, vector, 0);
	RC4_set_key(context, 16, text);
	RC4(context, 100, text, out);
}

static void multiply(int bits)
{
	void *numbers = BN_CTX_new(), *a = BN_new(), *e = BN_new(), *m = BN_new(), *r = BN_new();

	BN_set_word(m, 12345677);
	BN_set_bit(m, bits - 1);
	BN_set_word(a, 0x123456789);
	BN_set_bit(a, bits - 5);
	BN_set_word(e, 1);
	BN_mod_exp_mont_consttime(r, a, e, m, numbers, NULL);
	BN_mul(r, a, a, numbers);
	BN_sqr(r, a, numbers);
}

int main(void)
{
	hash_SHA1();
	hash_SHA256();
	hash_SHA512();
	hash_MD5();
	encrypt();
	multiply(512);
	return 0;
}
